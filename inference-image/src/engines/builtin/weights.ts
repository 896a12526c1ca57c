import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BuiltinConfig } from '../../base/config.ts';
import { ConfigError } from '@agentfleet/protocol/environment';

const cure = 'use the image `inference`, or set AGENTFLEET_WEIGHTS to the folder that has it';

/** Whether this runs from the sources and not as the bundle of the image. */
export const fromSources = import.meta.filename.endsWith('.ts');

/** Returns the folder of the weights: as set, else next to the bundle, else the repository's. */
export function weightsFolder({ weights }: Pick<BuiltinConfig, 'weights'>): string {
  const own = dirname(import.meta.filename);
  return weights ?? (fromSources ? join(own, '..', '..', '..', 'weights') : join(own, 'weights'));
}

/** @throws ConfigError that names the missing file */
export async function readWeights(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw missing(file, error);
  }
}

export function missing(file: string, error: unknown): ConfigError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return new ConfigError([`AGENTFLEET_WEIGHTS: ${file} cannot be read (${code}); ${cure}`]);
}

/** Over names and contents, in the order given. */
export async function digestOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = await readWeights(file);
    hash.update(`${file.split('/').at(-1)}\n${content.length}\n`).update(content);
  }
  return `sha256:${hash.digest('hex')}`;
}

/** Returns `sha256:` of one file, like `sha256sum`. */
export function sha256(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

/** @throws ConfigError when another artifact is asked for than the one that is here */
export function checkDigest({ artifact, digest }: BuiltinConfig, found: string): void {
  if (digest === null || digest === found) return;
  const mismatch = `builtin://${artifact} has the digest ${found}, not ${digest}`;
  throw new ConfigError([`AGENTFLEET_ARTIFACT_DIGEST: ${mismatch}; ask for that one, or use the image that has the other`]);
}
