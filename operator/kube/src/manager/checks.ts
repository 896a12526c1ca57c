/** A health check; throws or rejects when something is wrong, and says what. */
export type Check = () => void | Promise<void>;

export interface CheckResult {
  readonly name: string;
  /** Undefined when all is well. */
  readonly failure: string | undefined;
}

/** Runs all checks; none stops another. */
export async function runChecks(checks: ReadonlyMap<string, Check>): Promise<readonly CheckResult[]> {
  return Promise.all(
    [...checks].map(async ([name, check]) => {
      try {
        await check();
        return { name, failure: undefined };
      } catch (error) {
        return { name, failure: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
}

/** The text of Kubernetes' own components: one line for each check. Whoever asks learns no reason: it is in the process's log. */
export function renderChecks(
  endpoint: string,
  results: readonly CheckResult[],
  verbose: boolean,
): { readonly ok: boolean; readonly text: string } {
  const ok = results.every((result) => result.failure === undefined);
  if (ok && !verbose) return { ok, text: 'ok' };
  const lines = results.map(({ name, failure }) => (failure === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`));
  return { ok, text: `${lines.join('\n')}\n${endpoint} check ${ok ? 'passed' : 'failed'}\n` };
}
