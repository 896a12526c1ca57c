import { Type, type Static, type TProperties } from 'typebox';
import { slotName } from '../base/placement.ts';
import {
  atomicList,
  byteQuantity,
  choice,
  integer,
  labelName,
  optional,
  reference,
  rule,
  setOf,
  struct,
  text,
  union,
} from '../schema/index.ts';
import { Api, type ChatEndpoint } from './chat.ts';
import { Harness } from './harness.ts';

const Replay = struct('A recording.', {
  configMap: reference('A ConfigMap of the namespace with the recording.'),
  format: choice(
    'Format of the recording. Proposals: answers of a search. Chat: conversations of a chat model.',
    ['Proposals', 'Chat'],
    'Proposals',
  ),
});

const Llama = struct('A small language model that comes with its image.', {
  threads: integer('Threads that compute; leave one core of the limit to the rest.', 1, 64, 1),
  contextTokens: integer('Tokens that it sees at once.', 512, 8192, 2048),
});

const slots = 'spec.experts[].engine.vLLM.slots';

const fields = {
  image: text('Image of the engine.', { max: 512, min: 1, pattern: '^[-._:/@a-zA-Z0-9]+$' }),
  maxModelLen: integer('Tokens of one request with its answer.', 512, 1_048_576, 8192),
  maxNumSeqs: integer('Requests that are answered at once.', 1, 1024, 64),
  kvCacheBytes: optional(
    byteQuantity(
      'Memory for keys and values on each GPU; default: for resources.memory.kvTokens, or else for one request of maxModelLen.',
      'spec.experts[].engine.vLLM.kvCacheBytes',
    ),
  ),
  tensorParallel: optional(integer('GPUs of one node that share its weights; above 1 NVLink has to join them. Default: 1.', 1, 8)),
  slots: optional(setOf('These GPUs, when they are not any that are joined.', slotName('A GPU.'), { max: 8, min: 2 })),
  toolCallParser: optional(
    text('Parser of vLLM for the tool calls of this model; set, the expert is a chat model behind the gateway. Default: it is none.', {
      max: 64,
      min: 1,
      pattern: '^[-_a-zA-Z0-9.]+$',
    }),
  ),
  extraArgs: optional(atomicList('Further words of its command line, as they are.', text('One word.', { max: 256, min: 1 }), { max: 32 })),
};

const VLLM = struct('A vLLM server in the pods of the expert; its GPU is that of resources.slot.', fields, {
  rules: [
    rule(
      '!has(self.slots) || (has(self.tensorParallel) && self.slots.size() == self.tensorParallel)',
      `${slots} must name as many GPUs as spec.experts[].engine.vLLM.tensorParallel says; correct one of the two`,
    ),
    rule(
      "!has(self.slots) || self.slots.all(slot, slot.split('/')[0] == self.slots[0].split('/')[0])",
      `${slots} must be of one node, as NVLink joins GPUs of one; name others`,
    ),
    rule(
      '!has(self.toolCallParser) || self.maxModelLen >= 1024',
      'spec.experts[].engine.vLLM.maxModelLen must be at least 1024 beside spec.experts[].engine.vLLM.toolCallParser; raise it',
    ),
  ],
});
export type VLLM = Static<typeof VLLM>;

const Adapter = struct('A LoRA adapter on the engine of another expert.', {
  base: labelName('The expert with the engine VLLM that loads it.'),
  rank: integer('Its rank.', 1, 512, 16),
});

const own = union(
  'Synth: search without a model. Replay: a recording. Llama: a small language model. Builtin: our own weights and rules. VLLM: a language model on GPUs. Adapter: LoRA weights on the engine of another expert. OpenAI, Anthropic: a chat model behind an API. Harness: an agent program inside the sandbox.',
  'spec.experts[].engine',
  { Synth: null, Replay, Llama, Builtin: null, VLLM, Adapter, OpenAI: null, Anthropic: null, Harness },
  [
    rule(
      "self.type in ['OpenAI', 'Anthropic'] ? has(self.api) : !has(self.api)",
      'spec.experts[].engine.api must be set exactly when spec.experts[].engine.type is OpenAI or Anthropic; set the member that the type names and no other',
    ),
  ],
);

type BehindApi = { [T in 'OpenAI' | 'Anthropic']: { type: T; api: ChatEndpoint } }['OpenAI' | 'Anthropic'];

/** The engine that answers. The two types behind an API share a member. */
export const Engine = Type.Unsafe<Exclude<Static<typeof own>, { type: BehindApi['type'] }> | BehindApi>({
  ...own,
  properties: { ...(own as unknown as { readonly properties: TProperties }).properties, api: Type.Optional(Api) },
});
export type Engine = Static<typeof Engine>;
