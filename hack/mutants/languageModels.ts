import type { Mutant } from './mutants.ts';

const vllm = 'inference-image/src/engines/vllm';
const reading = 'agent-image/src/weights';
const pool = 'operator/src/controllers/expertpool';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });

/** Of language models: their weights, their engines, what is asked of them. */
export const languageModels: readonly Mutant[] = [
  {
    guarantee: 'an engine never sleeps under a request',
    file: `${vllm}/residency.ts`,
    find: 'if (this.#active === 0) await this.#options.control.sleep(this.#end.signal);',
    replace: 'await this.#options.control.sleep(this.#end.signal);\n        this.#active += 0;',
    test: vitest(`${vllm}/residency.test.ts`),
  },
  {
    guarantee: 'an engine is ready only when it has generated',
    file: `${vllm}/engine.ts`,
    find: '    await control.generate(model, signal);',
    replace: '    void model;',
    test: vitest(`${vllm}/engine.test.ts`),
  },
  {
    guarantee: 'an engine that forgot its adapter gets it again',
    file: `${vllm}/engine.ts`,
    find: 'if (adapter === undefined || !(error instanceof VllmError) || error.status !== 404) throw error;',
    replace: 'if (adapter !== undefined || !(error instanceof VllmError)) throw error;',
    test: vitest(`${vllm}/engine.test.ts`),
  },
  {
    guarantee: 'an answer about text that stands twice is no edit',
    file: `${vllm}/proposal.ts`,
    find: ' || file.content.includes(find, at + 1)',
    replace: '',
    test: vitest(`${vllm}/proposal.test.ts`),
  },
  {
    guarantee: 'files of a hub whose names lead out of the folder are not fetched',
    file: `${reading}/source.ts`,
    find: "path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')",
    replace: "path !== ''",
    test: vitest(`${reading}/weights.test.ts`),
  },
  {
    guarantee: 'a link out of the folder of weights is refused',
    file: `${reading}/inspect.ts`,
    find: "if (inside.startsWith('..'))",
    replace: "if (inside === '..')",
    test: vitest(`${reading}/weights.test.ts`),
  },
  {
    guarantee: 'weights of another digest are refused',
    file: `${reading}/inspect.ts`,
    find: 'expected.digest !== undefined && expected.digest !== digest',
    replace: 'expected.digest !== undefined && expected.digest === `${digest}x`',
    test: vitest(`${reading}/weights.test.ts`),
  },
  {
    guarantee: 'a part of another file is not gone on with',
    file: `${reading}/fetch.ts`,
    find: 'const start = size <= bytes ? size : 0;',
    replace: 'const start = Math.min(size, bytes);',
    test: vitest(`${reading}/weights.test.ts`),
  },
  {
    guarantee: 'no engine loads weights that were not read',
    file: `${pool}/weights/state.ts`,
    find: "return view?.state.phase === 'Ready' && view.fault === undefined;",
    replace: 'return view !== undefined;',
    test: vitest(`${pool}/weights/weights.test.ts`),
  },
  {
    guarantee: 'what was found of other weights says nothing of these',
    file: `${pool}/weights/state.ts`,
    find: '    state.uri === weights.uri &&\n',
    replace: '',
    test: vitest(`${pool}/weights/weights.test.ts`),
  },
  {
    guarantee: 'a draft with another tokenizer is refused',
    file: `${pool}/weights/state.ts`,
    find: 'state.tokenizerHash === undefined || state.tokenizerHash === target;',
    replace: 'state.tokenizerHash !== item.owner;',
    test: vitest(`${pool}/weights/weights.test.ts`),
  },
  {
    guarantee: 'an engine is started with words that vLLM knows: ranks of adapters',
    file: 'operator/src/serving/vllm/command.ts',
    find: 'String(engineRank(adapters.maxRank))',
    replace: 'String(adapters.maxRank)',
    test: vitest('test/engines/commandLine.test.ts'),
  },
  {
    guarantee: 'an engine is started with words that vLLM knows: its weights',
    file: 'operator/src/serving/vllm/command.ts',
    find: "    demand.modelPath,\n    '--served-model-name',",
    replace: "    '--model',\n    demand.modelPath,\n    '--served-model-name',",
    test: vitest('test/engines/commandLine.test.ts'),
  },
  {
    guarantee: 'an engine answers until our server has drained',
    file: 'operator/src/serving/vllm/pod.ts',
    find: "    restartPolicy: 'Always',\n",
    replace: '',
    test: vitest(`${pool}/weights/weights.test.ts`),
  },
];
