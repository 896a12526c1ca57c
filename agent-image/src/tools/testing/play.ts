import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, afterEach, expect } from 'vitest';
import { builtRunner, ToolBed, type BedOptions, type Files } from './bed.ts';

/** A call, and its observation: durations do not count. */
export interface Case {
  readonly name: string;
  readonly tool: string;
  readonly args: unknown;
  readonly files?: Files;
  readonly before?: (bed: ToolBed) => Promise<unknown>;
  readonly ok: boolean;
  readonly text: string | RegExp;
  /** Files afterwards. */
  readonly leaves?: Readonly<Record<string, string | null>>;
}

/** Shared by tests of tools: whether this machine can run them, a fresh bed for each, and the play of a table's row. */
export interface Stage {
  /** Empty where the runner cannot be used: the tests are skipped. */
  readonly binary: string;
  readonly begin: (options?: BedOptions) => Promise<ToolBed>;
  readonly play: (one: Case, options?: BedOptions) => Promise<void>;
}

export const timeless = (text: string): string => text.replaceAll(/\d+\.\d s/g, 'N s');

/** Builds the runner once for the file that calls it, and takes each bed down after its test. */
export async function openStage(): Promise<Stage> {
  const built = await builtRunner();
  const binary = 'binary' in built ? built.binary : '';
  if ('why' in built) console.error(`SKIPPED: the Go runner cannot be used here:\n${built.why}`);
  let open: ToolBed | undefined;
  afterAll(() => (binary === '' ? undefined : rm(dirname(binary), { recursive: true, force: true })));
  afterEach(async () => {
    await open?.[Symbol.asyncDispose]();
    open = undefined;
  });
  const begin = async (options: BedOptions = {}): Promise<ToolBed> => (open = await ToolBed.open(binary, options));
  const play = async ({ tool, args, files = {}, before, ok, text, leaves = {} }: Case, options: BedOptions = {}): Promise<void> => {
    const bed = await begin({ files, ...options });
    await before?.(bed);
    const observation = await bed.call(tool, args);
    if (typeof text === 'string') expect(timeless(observation.text)).toBe(text);
    else expect(observation.text).toMatch(text);
    expect(observation.ok).toBe(ok);
    for (const [path, content] of Object.entries(leaves)) expect(await bed.read(path)).toBe(content);
  };
  return { binary, begin, play };
}
