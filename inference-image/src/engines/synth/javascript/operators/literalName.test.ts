import { testOperator } from '../testing/table.ts';
import { literalName } from './literalName.ts';

testOperator(literalName, [
  { before: 'function f(size: number) {\n  at += 10;\n}\n', after: 'function f(size: number) {\n  at += size;\n}\n' },
  { before: 'this.open = true;\n', after: 'this.open = !this.open;\n' },
]);
