/** The part of node-llama-cpp 3.22 that this engine calls. The package is in one image only, so its types are told here. */

export type Token = number;

/** What is asked of one token, and told about its successor. */
export type ControlledInput = readonly [
  Token,
  {
    readonly generateNext: {
      readonly logits: { readonly filter: { readonly tokens: readonly Token[]; readonly includeSelected: true } };
      readonly totalLogitWeight: true;
    };
  },
];

export interface ControlledOutput {
  readonly next: {
    readonly logits?: ReadonlyMap<Token, number>;
    /** Sum of exp(logit − greatest logit) over the vocabulary. */
    readonly totalLogitWeight?: number;
  };
}

export interface Sequence {
  readonly nextTokenIndex: number;
  eraseContextTokenRanges(ranges: { start: number; end: number }[]): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: Token[]): Promise<void>;
  controlledEvaluate(input: ControlledInput[]): Promise<(ControlledOutput | undefined)[]>;
  evaluate(tokens: Token[], options: { temperature: 0; topK: 1; grammarEvaluationState: object }): AsyncGenerator<Token, void, void>;
}

export interface Model {
  tokenize(text: string, specialTokens?: boolean): Token[];
  detokenize(tokens: readonly Token[], specialTokens?: boolean): string;
  isEogToken(token: Token): boolean;
  createContext(options: {
    contextSize: number;
    threads: number;
    sequences: number;
    batchSize: number;
  }): Promise<{ getSequence(): Sequence }>;
}

export interface Llama {
  loadModel(options: { modelPath: string; gpuLayers: number }): Promise<Model>;
  createGrammarForJsonSchema(schema: object): Promise<object>;
  dispose(): Promise<void>;
}

interface Library {
  readonly getLlama: (options: { gpu: false; build: 'never'; maxThreads: number; progressLogs: false; logLevel: 'warn' }) => Promise<Llama>;
  readonly LlamaGrammarEvaluationState: new (options: { model: Model; grammar: object }) => object;
}

/**
 * Loads the package. @param specifier of an installed copy; the image has one beside the bundle
 * @throws Error naming the image when there is none
 */
export async function loadLibrary(specifier: string): Promise<Library> {
  try {
    // Never a literal: the bundler would look for a package that most machines do not have.
    return (await import(specifier)) as Library;
  } catch (cause) {
    throw new Error(`engine Llama: cannot load ${specifier}: the image inference-llama has it, with its binary for x64`, { cause });
  }
}
