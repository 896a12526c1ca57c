import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Entry, fileEntry } from '../entries/entry.ts';
import type { Start } from './fetch.ts';
import type { Git } from './program.ts';

/**
 * The `.git` of the workspace, made from an allowlist: packs, shallow marks, an index, and a configuration and refs
 * that are written here. No state of the worker (paths, settings, credentials, logs) can be in it.
 */
export async function* metadataEntries(git: Git, url: string, start: Start): AsyncGenerator<Entry> {
  for (const folder of ['', '/objects', '/objects/info', '/objects/pack', '/refs', '/refs/heads', '/refs/tags', '/info']) {
    yield { path: `.git${folder}`, kind: 'Folder', mode: 0o755, size: 0 };
  }
  yield fileEntry('.git/HEAD', start.name?.startsWith('refs/heads/') ? `ref: ${start.name}\n` : `${start.commit}\n`, 0o644);
  yield fileEntry('.git/config', configuration(url, start), 0o644);
  yield fileEntry('.git/packed-refs', packedRefs(start), 0o644);
  yield fileEntry('.git/info/exclude', '', 0o644);
  const shallow = await readFile(join(git.folder, 'shallow')).catch(() => null);
  if (shallow !== null) yield fileEntry('.git/shallow', shallow, 0o644);
  const index = join(git.settings.scratch, 'index');
  await git.run(['read-tree', start.commit], { cwd: git.folder, env: { GIT_INDEX_FILE: index } });
  yield await copied('.git/index', index, 0o644);
  const packs = join(git.folder, 'objects', 'pack');
  for (const name of (await readdir(packs)).sort()) {
    if (/^pack-[0-9a-f]+\.(?:pack|idx|rev)$/.test(name)) yield await copied(`.git/objects/pack/${name}`, join(packs, name), 0o444);
  }
}

async function copied(path: string, file: string, mode: number): Promise<Entry> {
  const { size } = await stat(file);
  return { path, kind: 'File', mode, size, content: () => createReadStream(file) as AsyncIterable<Uint8Array> };
}

function configuration(url: string, { name, objectFormat }: Start): string {
  const quoted = `"${url.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const branch = name?.startsWith('refs/heads/') ? name.slice('refs/heads/'.length) : undefined;
  return [
    '[core]',
    `\trepositoryformatversion = ${objectFormat === 'sha256' ? 1 : 0}`,
    '\tfilemode = true',
    '\tbare = false',
    '\tlogallrefupdates = true',
    ...(objectFormat === 'sha256' ? ['[extensions]', '\tobjectformat = sha256'] : []),
    '[remote "origin"]',
    `\turl = ${quoted}`,
    '\tfetch = +refs/heads/*:refs/remotes/origin/*',
    ...(branch === undefined ? [] : [`[branch "${branch}"]`, '\tremote = origin', `\tmerge = refs/heads/${branch}`]),
    '',
  ].join('\n');
}

function packedRefs({ name, object, commit }: Start): string {
  if (name === undefined) return '';
  const lines = [`${object} ${name}`];
  if (name.startsWith('refs/heads/')) lines.push(`${commit} refs/remotes/origin/${name.slice('refs/heads/'.length)}`);
  else if (object !== commit) lines.push(`^${commit}`);
  return `# pack-refs with: peeled fully-peeled sorted \n${lines.join('\n')}\n`;
}
