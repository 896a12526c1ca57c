// Rules of ExpertPool over engines with weights of their own.
import { fullPool, withoutGateway } from './poolExamples.ts';
import { withValue } from './fields.ts';
import { change, member, type RuleCase } from './ruleCase.ts';

const synth = { type: 'Synth' } as const;
const single = withValue(withoutGateway, 'spec.experts', [{ name: 'gen', role: 'Generalist', engine: synth }]);
const vllm = { type: 'VLLM', vLLM: { image: 'vllm:1' } } as const;
const weights = { uri: 'pvc://models/core' } as const;
const onGpu = { name: 'core', role: 'Generalist', engine: vllm, artifact: weights };
const withGpu = withValue(single, 'spec.experts[1]', onGpu);

/** Engines with their own weights, and the weights' places. */
export const weightCases: readonly RuleCase[] = [
  ...[
    { name: 'core', role: 'Generalist', engine: vllm },
    { name: 'core', role: 'Generalist', engine: synth, artifact: weights },
  ].map((expert) =>
    change(
      single,
      'spec.experts[1]',
      onGpu,
      expert,
      'spec.experts[].artifact must be set exactly beside the engines VLLM and Adapter, which have weights of their own; add or remove it',
    ),
  ),
  ...(
    [
      ['speculative', { draft: weights }],
      ['residency', 'Always'],
      ['warmup', { timeoutSeconds: 60 }],
    ] as const
  ).map(([field, value]) =>
    change(
      single,
      'spec.experts[1]',
      { ...onGpu, [field]: value },
      { name: 'core', role: 'Generalist', engine: synth, [field]: value },
      `spec.experts[].${field} must be set beside the engine VLLM only; remove it, or correct the engine`,
    ),
  ),
  change(
    withGpu,
    'spec.experts[2]',
    { name: 'js', role: 'Specialist', engine: { type: 'Adapter', adapter: { base: 'core' } }, artifact: weights },
    { name: 'js', role: 'Specialist', engine: { type: 'Adapter', adapter: { base: 'gen' } }, artifact: weights },
    'spec.experts[].engine.adapter.base must be the name of an expert of the pool with the engine VLLM; add it or correct the name',
  ),
  change(
    withValue(withGpu, 'spec.experts[2]', {
      name: 'js',
      role: 'Specialist',
      engine: { type: 'Adapter', adapter: { base: 'core' } },
      artifact: weights,
    }),
    'spec.experts[1].residency',
    'Always',
    'Sleep',
    'spec.experts[].residency must not be Sleep for the base of an adapter, which is asked past it; write Always',
  ),
  ...(
    [
      ['vLLM', 'VLLM'],
      ['adapter', 'Adapter'],
    ] as const
  ).flatMap(([name, type]) =>
    [{ type }, { type: 'Synth', [name]: type === 'VLLM' ? { image: 'a' } : { base: 'core' } }].map((engine) =>
      change(
        withGpu,
        'spec.experts[1].engine',
        vllm,
        engine,
        `spec.experts[].engine.${name} must be set exactly when spec.experts[].engine.type is ${type}; ${member}`,
      ),
    ),
  ),
  change(
    withGpu,
    'spec.experts[1].engine.vLLM.kvCacheBytes',
    '1Gi',
    '1Ki',
    'spec.experts[].engine.vLLM.kvCacheBytes must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi',
  ),
  ...['spec.experts[1].artifact.uri', 'spec.experts[1].speculative'].map((path) => {
    const value = (uri: string): unknown => (path.endsWith('uri') ? uri : { draft: { uri } });
    return change(
      withGpu,
      path,
      value('pvc://models/a'),
      value('pvc://models/../a'),
      'spec.experts[].artifact.uri must not have . or .. between its slashes; write the folder itself',
    );
  }),
  ...['spec.experts[1].artifact.uri', 'spec.experts[1].speculative'].map((path) => {
    const value = (uri: string): unknown => (path.endsWith('uri') ? uri : { draft: { uri } });
    return change(
      withValue(withGpu, 'spec.modelCache', undefined),
      path,
      value('pvc://models/a'),
      value('hf://a/b@main'),
      'spec.modelCache must be set beside weights of s3:// or hf://, which are fetched into it; add it, or name a pvc:// or oci://',
    );
  }),
  change(
    withValue(withGpu, 'spec.storage', undefined),
    'spec.experts[1].artifact.uri',
    'pvc://models/a',
    's3://models/a',
    'spec.storage must be set beside weights of s3://, as it says where buckets are; add it, or name another place',
  ),
  change(
    fullPool,
    'spec.modelCache.size',
    '2Gi',
    '1Ki',
    'spec.modelCache.size must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi',
  ),
  change(
    fullPool,
    'spec.modelCache.hub.credential',
    'hub',
    'store',
    'spec.modelCache.hub.credential must be the name of an entry of spec.credentials whose hosts hold spec.modelCache.hub.host; add or correct it',
  ),
];
