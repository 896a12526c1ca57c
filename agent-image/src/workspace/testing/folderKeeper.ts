import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile, readlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '@agentfleet/kube';
import type { TreeWritten } from '@agentfleet/protocol/keeper';
import { AttemptFailure } from '../../base/failure.ts';
import type { TreeWriter } from '../entries/entry.ts';
import type { WorkspacePorts } from '../import.ts';
import { dialerTo } from './gitServer.ts';

/** Unpacks a received tar into a folder with the system's tar. */
export class FolderKeeper implements TreeWriter {
  readonly folder: string;
  path = '';

  constructor(folder: string) {
    this.folder = folder;
  }

  async writeTree(path: string, tar: Readable): Promise<TreeWritten> {
    this.path = path;
    const child = spawn('tar', ['-x', '-p', '-C', this.folder], { stdio: ['pipe', 'ignore', 'ignore'] });
    const ended = new Promise<number | null>((resolve) => {
      child.once('close', resolve);
    });
    await pipeline(tar, child.stdin).finally(() => child.stdin.destroy());
    if ((await ended) !== 0) throw new Error('tar cannot read the stream');
    return { path, files: 0, folders: 0, links: 0, bytes: 0 };
  }

  /** Path → content, or `-> target` for a link, of everything but `.git`. */
  async files(): Promise<Readonly<Record<string, string>>> {
    const found: [string, string][] = [];
    for (const entry of await readdir(this.folder, { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      const path = relative(this.folder, file);
      if (path === '.git' || path.startsWith('.git/')) continue;
      if (entry.isSymbolicLink()) found.push([path, `-> ${await readlink(file)}`]);
      else if (entry.isFile()) found.push([path, await readFile(file, 'utf8')]);
    }
    return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

export interface ImportPlace extends WorkspacePorts {
  readonly keeper: FolderKeeper;
}

/** An empty workspace and a scratch folder below a folder, and the ports of an import into them; without more it reaches no server. */
export async function importPlace(folder: string, more: Partial<WorkspacePorts> = {}): Promise<ImportPlace> {
  const [workspace, scratch] = [join(folder, 'workspace'), join(folder, 'scratch')];
  await mkdir(workspace);
  await mkdir(scratch);
  return {
    readConfigMap: (name) => Promise.reject(new AttemptFailure('InvalidInput', 'ConfigMapNotFound', `no ConfigMap ${name}`)),
    clock: systemClock,
    signal: new AbortController().signal,
    dialer: dialerTo(),
    ...more,
    scratch,
    keeper: new FolderKeeper(workspace),
  };
}
