import { testOperator } from '../testing/table.ts';
import { pattern } from './pattern.ts';

testOperator(pattern, [
  { before: "x = s.replace(/ /, '-');\n", after: "x = s.replace(/ /g, '-');\n" },
  { before: 'x = /\\d/.test(s);\n', after: 'x = /^\\d$/.test(s);\n' },
  { before: 'x = /\\d/.exec(s);\n', after: 'x = /\\d+/.exec(s);\n' },
  { before: 'x = /a.b/;\n', after: 'x = /a\\.b/;\n' },
]);
