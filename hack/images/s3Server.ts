import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { cached } from '../cache/index.ts';
import { buildFamilies, goFacts, moduleDir } from '../cluster/build/binaries.ts';
import { sha256Of, type HashedFile } from './rootfs.ts';

/** The S3 server, and its licence. */
export interface S3Server {
  readonly binary: HashedFile;
  readonly licence: HashedFile;
}

/** The static S3 server, built from its Go module with the machine's Go or taken from the cache. */
export async function s3Server(signal?: AbortSignal): Promise<S3Server> {
  const path = await s3ServerBinary(signal);
  const { dir } = await cached('image-s3', basename(dirname(path)), async (target) => {
    const source = await moduleDir('versitygw');
    const texts = await Promise.all(['LICENSE', 'NOTICE'].map((name) => readFile(join(source, name), 'utf8')));
    await copyFile(path, join(target, 'versitygw'));
    await writeFile(join(target, 'LICENSE'), texts.join('\n'));
    for (const name of ['versitygw', 'LICENSE']) await writeFile(join(target, `${name}.sha256`), await sha256Of(join(target, name)));
  });
  const part = async (name: string): Promise<HashedFile> => ({
    file: join(dir, name),
    sha256: await readFile(join(dir, `${name}.sha256`), 'utf8'),
  });
  const [binary, licence] = await Promise.all([part('versitygw'), part('LICENSE')]);
  return { binary, licence };
}

/** Path of the built server. */
export async function s3ServerBinary(signal?: AbortSignal): Promise<string> {
  const go = await goFacts();
  if (go === undefined) throw new Error('the S3 server is built with Go, and there is no go command here; install Go');
  return (await buildFamilies(['versitygw'], go, () => {}, signal)).path('versitygw');
}
