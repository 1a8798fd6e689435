// The short run of the test of tenants; the long one is in test/soak.
import { tenants } from './tenants/tenants.suite.ts';

tenants({ stretchMs: 400, turns: 3 });
