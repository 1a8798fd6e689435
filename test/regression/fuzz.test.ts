// Proves on a fixed seed that what strangers send is read or refused. With more time and a seed of the day: test/soak/fuzz.test.ts.
import { fuzzConnections } from './fuzz/connections.suite.ts';
import { fuzzRequests } from './fuzz/http.suite.ts';
import { fuzzReaders } from './fuzz/readers.suite.ts';

const seed = 20_261_201;
fuzzReaders({ seed, rounds: 1_000 });
fuzzRequests({ seed, rounds: 300 });
fuzzConnections({ seed, rounds: 200 });
