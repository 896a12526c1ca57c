import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type GenerateRequest, type PriorRequest, generatingRoles } from '@agentfleet/protocol/inference';
import { jsonOf } from '@agentfleet/protocol/text';
import { Serial } from '@agentfleet/protocol/serial';
import type { Generated } from '../../base/engine.ts';
import { alone, codeDigest, type Engine } from '../../base/served.ts';
import { SequenceLikelihood, loadLibrary, type Llama, type Model, type Sequence, type Token, prior, type Priors } from './likelihood.ts';
import { replySchema, propose, type Reply, type Writer, example } from './propose.ts';

interface LlamaOptions {
  /** Path of the GGUF. */
  readonly model: string;
  /** At most the CPU limit less one: decoding on all cores collapses. */
  readonly threads: number;
  readonly contextTokens: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** `sha256:` of code and weights. */
  readonly modelDigest: string;
  /** Installed copy of node-llama-cpp: a name or a path. */
  readonly library: string;
}

/**
 * A small language model on the CPU. Its likelihoods order the candidates of others; its own proposals are weak. One
 * request at a time: it has one context, which takes all its threads.
 */
export class LlamaEngine implements Engine {
  readonly name = 'Llama';
  readonly roles = generatingRoles;
  readonly learned = true;
  readonly languages = ['*'];
  readonly modelDigest: string;
  readonly about = {
    model: 'SmolLM2-135M-Instruct Q4_1',
    parameters: 135_000_000,
    use: 'its likelihoods order candidates; its own proposals are weak',
  } as const;
  readonly #now: () => number;
  readonly #llama: Llama;
  readonly #likelihood: SequenceLikelihood;
  readonly #writer: Writer;
  readonly #turn = new Serial();

  private constructor(options: LlamaOptions, llama: Llama, likelihood: SequenceLikelihood, writer: Writer) {
    this.#now = options.now;
    this.modelDigest = options.modelDigest;
    this.#llama = llama;
    this.#likelihood = likelihood;
    this.#writer = writer;
  }

  /** Loads library and weights. @throws Error when either is missing or does not fit */
  static async load(options: LlamaOptions): Promise<LlamaEngine> {
    const { threads, contextTokens, library } = options;
    const { getLlama, LlamaGrammarEvaluationState } = await loadLibrary(library);
    const llama = await getLlama({ gpu: false, build: 'never', maxThreads: threads, progressLogs: false, logLevel: 'warn' });
    const model = await llama.loadModel({ modelPath: options.model, gpuLayers: 0 });
    const context = await model.createContext({
      contextSize: contextTokens,
      threads,
      sequences: 1,
      batchSize: Math.min(512, contextTokens),
    });
    const sequence = context.getSequence();
    const likelihood = new SequenceLikelihood(model, sequence);
    const grammar = await llama.createGrammarForJsonSchema(replySchema);
    const state = (): object => new LlamaGrammarEvaluationState({ model, grammar });
    return new LlamaEngine(options, llama, likelihood, grammarWriter({ model, sequence, likelihood, state, contextTokens }));
  }

  readonly generate = alone((request: GenerateRequest, signal) => this.#turn.run(() => this.#generate(request, signal), signal));

  /** Likelihoods of the candidates of others. */
  prior(request: PriorRequest, signal: AbortSignal): Promise<Priors> {
    return this.#turn.run(() => prior(request, this.#likelihood, { now: this.#now, signal }), signal);
  }

  async prove(): Promise<void> {
    const { scores } = await this.prior(example, new AbortController().signal);
    const [right, wrong] = scores.map(({ gainNats }) => gainNats);
    if (typeof right !== 'number' || typeof wrong !== 'number' || right <= wrong) {
      throw new Error('it does not find the repaired example likelier than a broken one');
    }
  }

  async close(): Promise<void> {
    await this.#llama.dispose();
  }

  #generate(request: GenerateRequest, signal: AbortSignal): Promise<Generated> {
    return propose(request, this.#writer, { now: this.#now, signal });
  }
}

interface WriterParts {
  readonly model: Model;
  readonly sequence: Sequence;
  readonly likelihood: SequenceLikelihood;
  readonly state: () => object;
  readonly contextTokens: number;
}

/** Writes greedily inside the grammar, then asks how likely that was without it. */
function grammarWriter({ model, sequence, likelihood, state, contextTokens }: WriterParts): Writer {
  const write: Writer['write'] = async (prompt, maxTokens, stop) => {
    await likelihood.hold(prompt.slice(0, -1));
    const written: Token[] = [];
    let ended = false;
    const options = { temperature: 0, topK: 1, grammarEvaluationState: state() } as const;
    for await (const token of sequence.evaluate(prompt.slice(-1), options)) {
      if (model.isEogToken(token)) ended = true;
      else written.push(token);
      if (ended || written.length >= maxTokens || stop()) break;
      // The end of an object is the end of the grammar; some models go on with blanks.
      const text = model.detokenize(written);
      if (text.trimEnd().endsWith('}') && jsonOf(text) !== undefined) ended = true;
      if (ended) break;
    }
    await likelihood.resync();
    if (!ended || written.length === 0) return null;
    const probabilities = await likelihood.logProbs([...prompt, ...written], prompt.length, written.length);
    const logLikelihood = probabilities.reduce((sum, value) => sum + value, 0);
    return { text: model.detokenize(written), tokens: written.length, logLikelihood } satisfies Reply;
  };
  return { tokenize: (text, special) => model.tokenize(text, special), write, contextTokens };
}

/** Name of the weights below the folder of weights. */
export const llamaWeights = 'smollm2-135m-instruct-q4_1.gguf';

/** Returns the package's path: next to the bundle in the image; for sources the destination of `hack/images/main.ts llama`. */
export function llamaLibrary(): string {
  const own = import.meta.filename;
  if (!own.endsWith('.ts')) return 'node-llama-cpp';
  return join(dirname(own), '../../../llama/node_modules/node-llama-cpp/dist/index.js');
}

/** Creates the engine with its weights loaded. @throws Error naming the image that has the missing files */
export async function createLlamaEngine(
  options: Omit<LlamaOptions, 'modelDigest' | 'library'> & { readonly library?: string },
): Promise<LlamaEngine> {
  await access(options.model).catch((cause: unknown) => {
    throw new Error(`engine Llama: there is no ${options.model}: the image inference-llama has it`, { cause });
  });
  return LlamaEngine.load({ library: llamaLibrary(), ...options, modelDigest: await codeDigest('llama', [options.model]) });
}
