import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import { codeDigest } from './digest.ts';
import type { Engine } from './engine.ts';
import { readRecords, ReplayEngine } from './replay/index.ts';
import { bundledGrammars, Grammars, installedGrammars, SynthEngine } from './synth/index.ts';

/** The engine that the configuration names, loaded. @throws Error when its files are absent or wrong */
export async function createEngine(config: Pick<Config, 'engine' | 'grammars'>, now: () => number): Promise<Engine> {
  if (config.engine.type === 'Replay') return new ReplayEngine(await readRecords(config.engine.record), now);
  const folder = config.grammars ?? (import.meta.filename.endsWith('.ts') ? null : dirname(import.meta.filename));
  const files = folder === null ? installedGrammars() : bundledGrammars(folder);
  const modelDigest = await codeDigest('synth', Object.values(files));
  return new SynthEngine({ grammars: await Grammars.open(files), modelDigest, now });
}
