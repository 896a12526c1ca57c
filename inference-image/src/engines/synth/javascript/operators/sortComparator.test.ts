import { testOperator } from '../testing/table.ts';
import { sortComparator } from './sortComparator.ts';

testOperator(sortComparator, [
  { before: 'list.sort();\n', after: 'list.sort((a, b) => a - b);\n' },
  { before: 'list.sort((x, y) => x.age - y.age);\n', after: 'list.sort((x, y) => y.age - x.age);\n' },
  { before: 'list.sort((x, y) => x > y);\n', after: 'list.sort((x, y) => x - y);\n' },
]);
