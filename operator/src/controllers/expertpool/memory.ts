import type { Expert, ExpertPoolStatus } from '@agentfleet/protocol/api';
import { compareMemory, driftTolerance, kvBytesPerToken, type Architecture } from '../../placement/index.ts';
import type { ServerInfo } from '../../serving/index.ts';
import type { Word } from './conditions.ts';
import { kvCacheBytes, kvElementBytes } from './manifests/languageModel.ts';

type ExpertState = NonNullable<ExpertPoolStatus['experts']>[number];

/** What the weights of an engine tell of themselves. */
export interface Sizes {
  readonly model: Architecture | undefined;
  /** Of the draft inside of it, which has keys and values for the same tokens. */
  readonly draft: Architecture | undefined;
}

/**
 * Keys and values of an engine: what was reckoned for the tokens that it holds, beside the bytes that it was given for them.
 * Undefined while it does not tell. Pure.
 */
export function memoryOf(expert: Expert, { model, draft }: Sizes, info: ServerInfo | undefined): ExpertState['memory'] {
  if (expert.engine.type !== 'VLLM' || model === undefined || info?.kvTokens === undefined) return undefined;
  const perToken = [model, ...(draft === undefined ? [] : [draft])].reduce((sum, one) => sum + kvBytesPerToken(one, kvElementBytes), 0);
  const found = compareMemory(info.kvTokens * perToken, kvCacheBytes(expert, model));
  if (found === undefined) return undefined;
  const { estimated, measured, errorRatio } = found;
  return { estimated, measured, errorRatio };
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)} GiB`;

/** The condition EstimateDrift; undefined where no engine tells its memory. Pure. */
export function driftWord(states: readonly ExpertState[]): Word | undefined {
  const told = states.flatMap(({ name, memory }) => (memory === undefined ? [] : [{ name, ...memory }]));
  if (told.length === 0) return undefined;
  const far = told.filter(({ errorRatio }) => Math.abs(Number(errorRatio)) > driftTolerance);
  if (far.length === 0) return { status: 'False', reason: 'WithinTolerance', message: 'engines hold as many tokens as was reckoned' };
  const words = far.map(
    ({ name, estimated, measured, errorRatio }) =>
      `expert ${name}: its engine holds in ${gib(measured)} the tokens that were reckoned at ${gib(estimated)} (error ${errorRatio})`,
  );
  const message = `${words.join('; ')}; set resources.memory.kvTokens, or engine.vLLM.kvCacheBytes, by what it holds`;
  return { status: 'True', reason: 'EstimateDrift', message };
}
