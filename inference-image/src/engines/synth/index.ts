/** Program repair by search over small edits, without a model. `python/` is all that knows Python. */
export { bundledGrammar, installedGrammar, PythonParser } from './python/parser.ts';
export { SynthEngine } from './synth.ts';
