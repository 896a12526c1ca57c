// Entry of every npm script. Plain JavaScript without imports from packages, because it
// runs on whatever Node the machine has and before anything is installed.
// It installs the locked packages when they are missing or older than the lock file, then
// runs the given TypeScript file on the Node version that the lock pins.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = join(root, 'node_modules', '.agentfleet-lock');
const lockHash = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .update(`${process.platform}-${process.arch}`)
  .digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lockHash) {
  console.error('agentfleet: installing the locked npm packages …');
  const install = spawnSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_ENV: 'development' },
  });
  if (install.status !== 0) {
    console.error('agentfleet: `npm ci` failed; its words stand above. Is the npm registry reachable?');
    process.exit(1);
  }
  writeFileSync(stamp, lockHash);
}

const node = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
if (!existsSync(node)) {
  console.error(`agentfleet: no pinned Node for ${process.platform}-${process.arch}; Linux on x64 or arm64 is needed`);
  process.exit(1);
}
const [script, ...args] = process.argv.slice(2);
const child = spawn(node, ['--disable-warning=ExperimentalWarning', join(root, script), ...args], {
  stdio: 'inherit',
  env: { ...process.env, PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH ?? ''}` },
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
