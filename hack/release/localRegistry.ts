// hack, release: local OCI registry on the loopback address. May import any package.
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { registryPrograms } from './registry.ts';

/** An OCI registry on a free port of the loopback address, empty. */
export interface LocalRegistry {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
  stop(): void;
}

/** Starts the registry of crane, which keeps everything in memory or in `folder`. */
export async function startRegistry(folder?: string): Promise<LocalRegistry> {
  const { crane } = await registryPrograms();
  if (folder !== undefined) await mkdir(folder, { recursive: true });
  const where = folder === undefined ? [] : ['--disk', folder];
  const server = spawn(crane, ['registry', 'serve', '--address', '127.0.0.1:0', ...where], { stdio: ['ignore', 'ignore', 'pipe'] });
  const port = await new Promise<string>((resolve, reject) => {
    let words = '';
    server.once('error', reject).once('exit', () => reject(new Error(`the registry ended: ${words}`)));
    server.stderr.on('data', (more: Buffer) => {
      words = (words + more.toString()).slice(-4096);
      const found = /serving on port (\d+)/.exec(words)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  return { address: `127.0.0.1:${port}`, stop: () => void server.kill('SIGTERM') };
}
