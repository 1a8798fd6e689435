// Owns the long run of two tenants on one server, some five minutes.
import { tenants } from '../regression/tenants/tenants.suite.ts';

tenants({ stretchMs: 5_000, turns: 6 });
