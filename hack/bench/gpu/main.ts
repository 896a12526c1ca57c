// Measures the estimate of GPU memory, sleep, adapters and drafts against a real engine of vLLM, on a machine with one GPU.
// `node hack/bench/gpu/main.ts --command 'vllm serve' --folder DIR --write FILE [--only 0,2]`; the models have random weights,
// which `weights.py` makes (Python with torch and tokenizers). Memory is what nvidia-smi counts above what it counted before.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { headerLength, lengthBytes, readConfig, tensorBytes } from '@agentfleet/protocol/weights';
import { projectionWidth } from '../../../operator/src/controllers/placement/owners.ts';
import { estimateEngine, gibibyte, type EngineDemand } from '../../../operator/src/placement/memory/index.ts';
import type { VllmDemand } from '../../../operator/src/serving/vllm/command.ts';
import {
  configOf,
  deepSeek7B,
  llama8B,
  qwen1B5,
  qwen7B,
  qwen14B,
  type PublicModel,
} from '../../../operator/src/placement/testing/models.ts';
import { VllmControl } from '../../../inference-image/src/engines/vllm/control.ts';
import { RunningEngine, usedBytes } from './engine.ts';

interface Case {
  readonly name: string;
  readonly model: PublicModel;
  readonly sequences: number;
  readonly kvGib: number;
  readonly draft?: PublicModel;
  readonly adapters?: { readonly count: number; readonly maxRank: number };
  readonly sleep?: boolean;
  /** vLLM chooses itself how many tokens it batches. */
  readonly ownBatch?: boolean;
}

const cases: readonly Case[] = [
  { name: '7B, sleep', model: qwen7B, sequences: 64, kvGib: 8, sleep: true },
  { name: '7B, batch of its own choice', model: qwen7B, sequences: 64, kvGib: 8, ownBatch: true },
  { name: '1.5B, two adapters', model: qwen1B5, sequences: 16, kvGib: 2, adapters: { count: 2, maxRank: 32 } },
  { name: '8B, 256 sequences', model: llama8B, sequences: 256, kvGib: 8 },
  { name: '7B with a draft of 1.5B', model: qwen7B, draft: { ...qwen1B5, vocabulary: qwen7B.vocabulary }, sequences: 16, kvGib: 8 },
  { name: '6.7B, as many heads of keys', model: deepSeek7B, sequences: 16, kvGib: 8 },
  { name: '14B', model: qwen14B, sequences: 16, kvGib: 4 },
];

const { values } = parseArgs({
  options: {
    command: { type: 'string', default: 'vllm serve' },
    python: { type: 'string', default: 'python3' },
    folder: { type: 'string' },
    write: { type: 'string' },
    only: { type: 'string' },
    weights: { type: 'string', default: join(import.meta.dirname, 'weights.py') },
  },
});
const folder = values.folder;
if (folder === undefined) throw new Error('--folder DIR: where models are written (up to 60 GiB)');
const chosen = values.only?.split(',').map(Number);
const { signal } = new AbortController();

function fullConfig(model: PublicModel): Record<string, unknown> {
  const qwen = model.bias === true;
  return {
    ...configOf(model),
    architectures: [qwen ? 'Qwen2ForCausalLM' : 'LlamaForCausalLM'],
    model_type: qwen ? 'qwen2' : 'llama',
    hidden_act: 'silu',
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    max_position_embeddings: 32_768,
    tie_word_embeddings: false,
    torch_dtype: 'bfloat16',
    bos_token_id: 0,
    eos_token_id: 0,
  };
}

async function modelFolder(model: PublicModel): Promise<string> {
  const path = join(folder ?? '', `${model.layers}x${model.hiddenSize}x${model.kvHeads}x${model.vocabulary}`);
  if (existsSync(join(path, 'tokenizer_config.json'))) return path;
  await mkdir(path, { recursive: true });
  const described = join(path, 'described.json');
  await writeFile(described, JSON.stringify(fullConfig(model)));
  execFileSync(values.python, [values.weights, described, path], { stdio: 'inherit' });
  return path;
}

async function adapterFolder(model: PublicModel, of: string, name: string, rank: number): Promise<string> {
  const path = `${of}-${name}`;
  const described = `${path}.json`;
  await writeFile(described, JSON.stringify(fullConfig(model)));
  execFileSync(values.python, [values.weights, '--adapter', described, path, String(rank)], { stdio: 'inherit' });
  return path;
}

/** Reads sizes as the job that fetches weights does: from the headers of the files. */
async function sizeOf(path: string): Promise<Pick<EngineDemand, 'architecture' | 'weightBytes'>> {
  const config = JSON.parse(await readFile(join(path, 'config.json'), 'utf8')) as Record<string, unknown>;
  const file = await open(join(path, 'model.safetensors'));
  const start = Buffer.alloc(lengthBytes);
  await file.read(start, 0, lengthBytes, 0);
  const header = Buffer.alloc(headerLength(start));
  await file.read(header, 0, header.length, lengthBytes);
  await file.close();
  return { architecture: readConfig(config), weightBytes: tensorBytes(header) };
}

/** The most that is in use while `work` runs, bytes. */
async function peak(work: () => Promise<unknown>): Promise<number> {
  const running = { yes: true };
  let most = 0;
  const watching = (async () => {
    while (running.yes) {
      most = Math.max(most, usedBytes());
      await wait(100);
    }
  })();
  try {
    await work();
  } finally {
    running.yes = false;
    await watching;
  }
  return most;
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return Math.round(performance.now() - began);
};

async function adapterRows(one: Case, path: string, control: VllmControl, origin: string, used: () => number): Promise<object> {
  const rank = one.adapters?.maxRank ?? 0;
  const names = ['first', 'second'];
  const adapters: { readonly name: string; readonly path: string }[] = [];
  for (const name of names) adapters.push({ name, path: await adapterFolder(one.model, path, name, rank) });
  const before = used();
  const registerMs = await timed(() => control.registerAdapters(adapters, signal));
  for (const { name } of adapters) await control.generate(name, signal);
  const loaded = used();
  const unload = await fetch(`${origin}/v1/unload_lora_adapter`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ lora_name: 'first' }),
  });
  await wait(1000);
  return {
    registerMs,
    grewBy: loaded - before,
    unloadStatus: unload.status,
    grewByAfterUnload: used() - before,
    models: await control.models(signal),
  };
}

async function sleepRows(control: VllmControl, model: string, used: () => number): Promise<object> {
  const sleepMs = await timed(() => control.sleep(signal));
  await wait(1000);
  const asleep = used();
  const says = await control.isSleeping(signal);
  const wakeMs = await timed(() => control.wake(signal));
  const firstMs = await timed(() => control.generate(model, signal));
  return { sleepMs, asleep, says, wakeMs, firstMs, awake: used() };
}

/** Answers that fill the batch: as many at once as it takes, long prompts. */
async function load(control: VllmControl, model: string, sequences: number): Promise<unknown> {
  const schema = {
    type: 'object',
    properties: { reason: { type: 'string', maxLength: 40 } },
    required: ['reason'],
    additionalProperties: false,
  };
  return Promise.all(
    Array.from({ length: Math.min(sequences, 64) }, (_, at) =>
      control.chat(
        {
          model,
          messages: [{ role: 'user', content: `${at} ${'explain this function. '.repeat(150)}` }],
          schema,
          n: 2,
          temperature: 0.8,
          seed: at,
          maxTokens: 96,
          timeoutMs: 120_000,
        },
        signal,
      ),
    ),
  );
}

/** Returns the demand that the planner calculates with, and the command that the engine is started with. */
async function described(one: Case): Promise<{ readonly path: string; readonly demand: EngineDemand; readonly command: VllmDemand }> {
  const path = await modelFolder(one.model);
  const draftPath = one.draft === undefined ? undefined : await modelFolder(one.draft);
  const size = await sizeOf(path);
  const { count, maxRank } = one.adapters ?? { count: 0, maxRank: 0 };
  const demand: EngineDemand = {
    ...size,
    tokens: 0,
    maxSequences: one.sequences,
    shards: 1,
    ...(draftPath === undefined ? {} : { draft: await sizeOf(draftPath) }),
    ...(count === 0 ? {} : { adapters: { count, rank: maxRank, projectionWidth: projectionWidth(size.architecture) } }),
  };
  const command: VllmDemand = {
    modelPath: path,
    pool: 'bench',
    expert: 'core',
    digest: 'sha256:00',
    maxModelLength: 8192,
    maxSequences: one.sequences,
    kvCacheBytes: one.kvGib * gibibyte,
    shards: 1,
    adapters: one.adapters,
    draft: draftPath === undefined ? undefined : { modelPath: draftPath, tokens: 4 },
    sleep: one.sleep === true,
    extraArgs: [],
  };
  return { path, demand, command };
}

async function measure(one: Case): Promise<object> {
  const { path, demand, command } = await described(one);
  const estimate = estimateEngine(demand);
  const before = usedBytes();
  const engine = await RunningEngine.start({
    command: values.command.split(' '),
    demand: command,
    ownBatch: one.ownBatch === true,
    logFile: join(folder ?? '', `${one.name.replaceAll(/\W+/g, '-')}.log`),
    startSeconds: 300,
  });
  try {
    const figures = await figuresOf(one, engine, { path, estimated: estimate.total + command.kvCacheBytes, before });
    return { name: one.name, parts: estimate, kvBytes: command.kvCacheBytes, ...figures };
  } finally {
    await engine.stop();
  }
}

interface Expected {
  readonly path: string;
  readonly estimated: number;
  /** In use before the engine was started, bytes. */
  readonly before: number;
}

async function figuresOf(one: Case, engine: RunningEngine, { path, estimated, before }: Expected): Promise<object> {
  const control = new VllmControl({ origin: engine.origin, timeoutMs: 120_000 });
  const model = 'bench.core';
  const used = (): number => usedBytes() - before;
  const probe = await control.generate(model, signal);
  const ready = used();
  const most = (await peak(() => load(control, model, one.sequences))) - before;
  return {
    estimated,
    ready,
    peak: most,
    errorOfPeak: Number(((most - estimated) / most).toFixed(4)),
    startSeconds: Math.round(engine.startedAfter),
    probe,
    kvTokens: await control.kvTokens(signal),
    ...(one.adapters === undefined ? {} : { adapters: await adapterRows(one, path, control, engine.origin, used) }),
    ...(one.sleep === true ? { sleep: await sleepRows(control, model, used) } : {}),
    log: await engine.memoryLines(),
    metrics: await metricNames(engine.origin),
  };
}

async function metricNames(origin: string): Promise<readonly string[]> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return [...new Set(text.match(/^vllm:[a-z_]+/gm) ?? [])].sort();
}

const results: object[] = [];
for (const [at, one] of cases.entries()) {
  if (chosen !== undefined && !chosen.includes(at)) continue;
  const result = await measure(one).catch((error: unknown) => ({ name: one.name, error: String(error).slice(0, 4000) }));
  results.push(result);
  console.log(JSON.stringify(result));
  if (values.write !== undefined) {
    await mkdir(dirname(values.write), { recursive: true });
    await writeFile(values.write, `${JSON.stringify(results, null, 2)}\n`);
  }
}
