import program from './program.json' with { type: 'json' };

/**
 * The tracer's files: path below its folder → content. `program.json` is made from `python/` and `node/` by `npm run generate`: a
 * bundled worker has no files beside it.
 */
export function tracerProgram(): Readonly<Record<string, string>> {
  return program;
}
