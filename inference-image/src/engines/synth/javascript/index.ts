import { defineLanguage, type LanguageDefinition } from '../language.ts';
import { ScriptFile, lines } from './file.ts';
import { operators } from './operators/index.ts';
import { rules } from './operator.ts';
import { symptomFactors } from './symptoms.ts';
import { types } from './syntax.ts';

const shared: Omit<LanguageDefinition<ScriptFile>, 'name' | 'grammars'> = {
  syntax: rules,
  operators,
  open: (source, root) => new ScriptFile(source, root),
  skipped: types,
  lines,
  symptoms: symptomFactors,
};

/** All that knows JavaScript. */
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
