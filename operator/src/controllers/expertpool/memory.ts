import type { ConditionValue } from '../../operands/conditions.ts';
import { shardsOf } from '../../operands/index.ts';
import type { Expert, ExpertPoolStatus } from '@agentfleet/protocol/api';
import { compareMemory, driftTolerance } from '../../placement/index.ts';
import type { ServerInfo } from '../../serving/index.ts';
import { bytesPerToken, kvCacheBytes, type EngineSizes } from './manifests/languageModel.ts';

type ExpertState = NonNullable<ExpertPoolStatus['experts']>[number];

/**
 * Keys and values of an engine on each of its GPUs: what was reckoned for the tokens that it holds, beside the bytes that it was given for them.
 * Undefined while it does not tell. Pure.
 */
export function memoryOf(expert: Expert, sizes: EngineSizes, info: ServerInfo | undefined): ExpertState['memory'] {
  if (expert.engine.type !== 'VLLM' || sizes.model === undefined || info?.kvTokens === undefined) return undefined;
  const found = compareMemory(info.kvTokens * bytesPerToken(sizes, shardsOf(expert)), kvCacheBytes(expert, sizes));
  if (found === undefined) return undefined;
  const { estimated, measured, errorRatio } = found;
  return { estimated, measured, errorRatio };
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)} GiB`;

/** The condition EstimateDrift; undefined where no engine tells its memory. Pure. */
export function driftCondition(states: readonly ExpertState[]): ConditionValue | undefined {
  const reported = states.flatMap(({ name, memory }) => (memory === undefined ? [] : [{ name, ...memory }]));
  if (reported.length === 0) return undefined;
  const far = reported.filter(({ errorRatio }) => Math.abs(Number(errorRatio)) > driftTolerance);
  if (far.length === 0) return { status: 'False', reason: 'WithinTolerance', message: 'engines hold as many tokens as was reckoned' };
  const words = far.map(
    ({ name, estimated, measured, errorRatio }) =>
      `expert ${name}: its engine holds in ${gib(measured)} the tokens that were reckoned at ${gib(estimated)} (error ${errorRatio})`,
  );
  const message = `${words.join('; ')}; set resources.memory.kvTokens, or engine.vLLM.kvCacheBytes, by what it holds`;
  return { status: 'True', reason: 'EstimateDrift', message };
}
