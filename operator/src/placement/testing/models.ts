import type { Architecture } from '../memory/index.ts';

/** A public model by the sizes that its config.json names. */
export interface PublicModel extends Architecture {
  readonly heads: number;
  /** Whether projections of queries, keys and values have a bias. */
  readonly bias?: boolean;
}

export type Precision = 'bf16' | 'awq' | 'int8';

const base = { headSize: 128, vocabulary: 152_064 };
export const qwen7B: PublicModel = { ...base, layers: 28, heads: 28, kvHeads: 4, hiddenSize: 3584, feedForwardSize: 18_944, bias: true };
export const qwen14B: PublicModel = { ...base, layers: 48, heads: 40, kvHeads: 8, hiddenSize: 5120, feedForwardSize: 13_824, bias: true };
export const qwen1B5: PublicModel = {
  layers: 28,
  heads: 12,
  kvHeads: 2,
  headSize: 128,
  hiddenSize: 1536,
  feedForwardSize: 8960,
  vocabulary: 151_936,
  bias: true,
};
export const deepSeek7B: PublicModel = {
  layers: 32,
  heads: 32,
  kvHeads: 32,
  headSize: 128,
  hiddenSize: 4096,
  feedForwardSize: 11_008,
  vocabulary: 32_256,
};
export const llama8B: PublicModel = { ...deepSeek7B, kvHeads: 8, feedForwardSize: 14_336, vocabulary: 128_256 };
export const qwen3_8B: PublicModel = { ...deepSeek7B, layers: 36, kvHeads: 8, feedForwardSize: 12_288, vocabulary: 151_936 };
export const codeLlama13B: PublicModel = {
  ...deepSeek7B,
  layers: 40,
  heads: 40,
  kvHeads: 40,
  hiddenSize: 5120,
  feedForwardSize: 13_824,
  vocabulary: 32_016,
};

/** The model's config.json, in the fields of the transformers library. */
export function configOf(model: PublicModel): Record<string, unknown> {
  return {
    num_hidden_layers: model.layers,
    num_attention_heads: model.heads,
    num_key_value_heads: model.kvHeads,
    head_dim: model.headSize,
    hidden_size: model.hiddenSize,
    intermediate_size: model.feedForwardSize,
    vocab_size: model.vocabulary,
  };
}

/** The header of the model's weights as a safetensors file has it: every tensor of every layer with its place. */
export function headerOf(model: PublicModel, precision: Precision): Uint8Array {
  const tensors: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  let position = 0;
  const add = (name: string, dtype: string, bytes: number): void => {
    tensors[name] = { dtype, shape: [], data_offsets: [position, position + bytes] };
    position += bytes;
  };
  const linear = (name: string, inputs: number, outputs: number): void => {
    const elements = inputs * outputs;
    if (precision === 'bf16') return add(`${name}.weight`, 'BF16', 2 * elements);
    if (precision === 'int8') return add(`${name}.weight`, 'I8', elements);
    add(`${name}.qweight`, 'I32', elements / 2);
    add(`${name}.scales`, 'F16', (elements / 128) * 2);
    add(`${name}.qzeros`, 'I32', elements / 128 / 2);
  };
  add('model.embed_tokens.weight', 'BF16', 2 * model.vocabulary * model.hiddenSize);
  for (let layer = 0; layer < model.layers; layer += 1) addLayer(model, `model.layers.${layer}`, linear, add);
  add('model.norm.weight', 'BF16', 2 * model.hiddenSize);
  add('lm_head.weight', 'BF16', 2 * model.vocabulary * model.hiddenSize);
  return new TextEncoder().encode(JSON.stringify(tensors));
}

type AddLinear = (name: string, inputs: number, outputs: number) => void;
type AddTensor = (name: string, dtype: string, bytes: number) => void;

function addLayer(model: PublicModel, name: string, linear: AddLinear, add: AddTensor): void {
  const queries = model.heads * model.headSize;
  const keys = model.kvHeads * model.headSize;
  linear(`${name}.self_attn.q_proj`, model.hiddenSize, queries);
  linear(`${name}.self_attn.k_proj`, model.hiddenSize, keys);
  linear(`${name}.self_attn.v_proj`, model.hiddenSize, keys);
  linear(`${name}.self_attn.o_proj`, queries, model.hiddenSize);
  if (model.bias === true) add(`${name}.self_attn.bias`, 'BF16', 2 * (queries + 2 * keys));
  linear(`${name}.mlp.gate_proj`, model.hiddenSize, model.feedForwardSize);
  linear(`${name}.mlp.up_proj`, model.hiddenSize, model.feedForwardSize);
  linear(`${name}.mlp.down_proj`, model.feedForwardSize, model.hiddenSize);
  add(`${name}.norms`, 'BF16', 4 * model.hiddenSize);
}
