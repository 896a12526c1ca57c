/** Restores a snapshot, to be killed: `node victim.ts HARNESS_DIR RUNNER ID`. */
import { join } from 'node:path';
import { CasEngine } from '../../cas/casEngine.ts';
import { withRunner } from './case.ts';

const [dir = '', runner = '', id = ''] = process.argv.slice(2);
const roots = ['workspace', 'home'].map((name) => ({ name, path: join(dir, name) }));
const engine = new CasEngine({ storeDir: join(dir, 'store'), roots, clock: Date, ...withRunner(runner) });
process.stdout.write('ready\n');
await engine.restore(id);
