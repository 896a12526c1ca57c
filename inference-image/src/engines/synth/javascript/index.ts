/**
 * JavaScript and TypeScript: operators by family (calls, conditions, …), each made of the shared forms in
 * `../language/forms.ts`, the file, its names and its syntax. May import `../language` and nothing else of the engine;
 * a new operator is used once its family lists it.
 */
import { type Operator, rules, symptomFactors } from './operator.ts';
import { calls } from './calls.ts';
import { conditions } from './conditions.ts';
import { conversions } from './conversions.ts';
import { exits } from './exits.ts';
import { literals } from './literals.ts';
import { names } from './identifiers.ts';
import { signs } from './signs.ts';
import { statements } from './statements.ts';
import { defineLanguage, type LanguageDefinition } from '../language/language.ts';
import { ScriptFile, lines } from './file.ts';
import { types } from './syntax.ts';

/** Every operator for JavaScript and TypeScript, by name. */
export const operators: readonly Operator[] = [
  ...calls,
  ...conditions,
  ...conversions,
  ...exits,
  ...literals,
  ...names,
  ...signs,
  ...statements,
].sort((one, other) => (one.name < other.name ? -1 : 1));

const shared: Omit<LanguageDefinition<ScriptFile>, 'name' | 'grammars'> = {
  syntax: rules,
  operators,
  open: (source, root) => new ScriptFile(source, root),
  skipped: types,
  lines,
  symptoms: symptomFactors,
};

/** The language JavaScript. */
export const javascript = defineLanguage<ScriptFile>({
  ...shared,
  name: 'javascript',
  grammars: { '.js': 'javascript', '.mjs': 'javascript', '.cjs': 'javascript', '.jsx': 'javascript' },
});

/** TypeScript is JavaScript with types, which are never edited. */
export const typescript = defineLanguage<ScriptFile>({
  ...shared,
  name: 'typescript',
  grammars: { '.ts': 'typescript', '.mts': 'typescript', '.cts': 'typescript', '.tsx': 'tsx' },
});
