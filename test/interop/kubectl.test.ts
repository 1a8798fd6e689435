// The suite of kubectl and helm with the newest and an older version, which has helm 3. Others: test/interop-toolchains.
import { kubectlSuite, wordsBefore34 } from './kubectl.suite.ts';
import { clientsOf } from './tools.ts';

kubectlSuite('1.35, helm 4', clientsOf(35));
kubectlSuite('1.32, helm 3', clientsOf(32), { instead: wordsBefore34 });
