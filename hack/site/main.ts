// `npm run docs`: the pages as a static site in hack/site/out, by VitePress; a dead link between pages fails it.
import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const here = import.meta.dirname;
const root = join(here, '..', '..');
const out = join(here, 'out');

/** Pages of the repository, but those inside of repositories of packs. */
function pages(): readonly string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'];
  const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0');
  return listed.filter((path) => path !== '' && !path.includes('/repos/'));
}

const scratch = await mkdtemp(join(here, '.pages-'));
try {
  for (const path of pages()) {
    await mkdir(join(scratch, dirname(path)), { recursive: true });
    // Comments are for readers of the source.
    await writeFile(join(scratch, path), (await readFile(join(root, path), 'utf8')).replaceAll(/^<!--[\s\S]*?-->\n/gm, ''));
  }
  await mkdir(join(scratch, '.vitepress'));
  await cp(join(here, 'config.mjs'), join(scratch, '.vitepress', 'config.mjs'));
  await symlink(join(here, 'node_modules'), join(scratch, 'node_modules'));
  await rm(out, { recursive: true, force: true });
  const program = join(here, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  execFileSync(process.execPath, [program, 'build', scratch, '--outDir', out], {
    stdio: 'inherit',
    env: { ...process.env, AGENTFLEET_ROOT: root },
  });
  console.log(`the site is in ${out}`);
} finally {
  await rm(scratch, { recursive: true, force: true });
}
