// `npm start`: makes the clone ready, then becomes `k8ts up` with the arguments given after `--`.
import './setup.mjs';

process.argv.splice(1, 1, 'k8ts', 'up');
await import('../bin/k8ts.js');
