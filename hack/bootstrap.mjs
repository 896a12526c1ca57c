// Entry of every npm script. Plain JavaScript without imports from packages, because it
// runs on whatever Node the machine has and before anything is installed.
// It installs the locked packages when they are missing or older than the lock file, then
// runs the given TypeScript file on the Node version that the lock pins.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = join(root, 'node_modules', '.agentfleet-lock');
const pinnedNode = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
const lockHash = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .update(`${process.platform}-${process.arch}`)
  .digest('hex');

// Two that install at once would remove each other's packages.
const turn = join(tmpdir(), `agentfleet-install-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`);
function isGone(pid) {
  try {
    return !(Number(pid) > 0) || !process.kill(Number(pid), 0);
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
function takeTurn() {
  for (;;) {
    try {
      return writeFileSync(turn, String(process.pid), { flag: 'wx' });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isGone(readFileSync(turn, { encoding: 'utf8', flag: 'a+' }))) rmSync(turn, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  }
}

/** By the mark of this script, or by `npm ci`, which a user has run after the lock was written. */
function isInstalled() {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash) return true;
  const own = join(root, 'node_modules', '.package-lock.json');
  return existsSync(own) && statSync(own).mtimeMs > statSync(join(root, 'package-lock.json')).mtimeMs && existsSync(pinnedNode);
}

if (!isInstalled()) takeTurn();
if (!isInstalled()) {
  console.error('agentfleet: installing the locked npm packages …');
  const install = spawnSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_ENV: 'development' },
  });
  if (install.status !== 0) {
    rmSync(turn, { force: true });
    console.error('agentfleet: `npm ci` failed; its words stand above. Is the npm registry reachable?');
    process.exit(1);
  }
  writeFileSync(stamp, lockHash);
}
if (existsSync(turn) && readFileSync(turn, 'utf8') === String(process.pid)) rmSync(turn, { force: true });

if (!existsSync(pinnedNode)) {
  console.error(`agentfleet: no pinned Node for ${process.platform}-${process.arch}; Linux on x64 or arm64 is needed`);
  process.exit(1);
}
const [script, ...args] = process.argv.slice(2);
const child = spawn(pinnedNode, ['--disable-warning=ExperimentalWarning', join(root, script), ...args], {
  stdio: 'inherit',
  env: { ...process.env, PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH ?? ''}` },
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
