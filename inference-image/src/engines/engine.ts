import type { EngineMemory, EngineType, GenerateRequest, GenerateResponse, GeneratingRole } from '@agentfleet/protocol/inference';

/** What an engine answers; who asked is added by the server. */
export type Generated = Omit<GenerateResponse, 'requestId' | 'engine' | 'modelDigest'>;

/** What generates candidates. One server holds one engine. */
export interface Engine {
  readonly name: EngineType;
  readonly roles: readonly GeneratingRole[];
  /** `sha256:` of what determines the answers: code and weights or record. */
  readonly modelDigest: string;
  readonly learned: boolean;
  readonly languages: readonly string[];
  /**
   * Answers the requests of one batch, in their order; the refusal of one leaves the others alone.
   * Long searches give way to other work at least every few milliseconds.
   */
  generate(batch: readonly GenerateRequest[], signal: AbortSignal): Promise<readonly Outcome[]>;
  /** Generates a real answer to a small example of its own. @throws Error when that fails */
  prove(): Promise<void>;
  /** What it told of its memory when it was proved last; undefined: nothing. */
  memory?(): EngineMemory | undefined;
  close(): Promise<void>;
}

export type Outcome = { readonly generated: Generated } | { readonly error: unknown };

/** Runs each request of a batch alone. */
export async function each(
  batch: readonly GenerateRequest[],
  run: (request: GenerateRequest) => Promise<Generated>,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const request of batch) {
    try {
      outcomes.push({ generated: await run(request) });
    } catch (error) {
      outcomes.push({ error });
    }
  }
  return outcomes;
}
