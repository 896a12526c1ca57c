/** Changes, takes, collects and restores for ever, to be killed: `node victim.ts HARNESS_DIR`. */
import fs from 'node:fs';
import { join } from 'node:path';
import { CasEngine } from '../cas/casEngine.ts';
import { setMetaByTouch } from './harness.ts';

const dir = process.argv[2] ?? '';
const [workspace, home] = [join(dir, 'workspace'), join(dir, 'home')];
const roots = [
  { name: 'workspace', path: workspace },
  { name: 'home', path: home },
];
const retention = { newest: 2, labels: ['initial'], slack: 1 };
const engine = new CasEngine({ storeDir: join(dir, 'store'), roots, setMeta: setMetaByTouch, clock: Date, retention });
process.stdout.write('ready\n');
for (let round = 0; ; round++) {
  for (let at = 0; at < 300; at += 2) fs.writeFileSync(join(workspace, `f${at}`), `${process.pid} ${round} ${at} `.repeat(500));
  fs.mkdirSync(join(home, `d${round}`), { recursive: true });
  fs.writeFileSync(join(home, `d${round}`, 'closed'), String(round), { mode: 0o000 });
  await engine.take();
  await engine.restore('s0001');
}
