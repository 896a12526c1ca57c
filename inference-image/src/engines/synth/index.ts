/**
 * Program repair by search over small edits, without a model. A folder per language is all that knows it.
 * Part of `engines`: may import `base`, `gpu`, `models` and protocol.
 */
export { bundledGrammars, Grammars, installedGrammars } from './language/syntax.ts';
export { SynthEngine } from './synth.ts';
