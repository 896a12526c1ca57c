import { testOperator } from '../testing/table.ts';
import { exceptionType } from './exceptionType.ts';

testOperator(exceptionType, [
  { before: 'try:\n    f()\nexcept KeyError:\n    pass\n', after: 'try:\n    f()\nexcept ValueError:\n    pass\n' },
  {
    before: 'try:\n    f()\nexcept (KeyError, OSError) as e:\n    pass\n',
    after: 'try:\n    f()\nexcept (KeyError, OSError, ValueError) as e:\n    pass\n',
  },
  { before: "raise KeyError('x')\n", after: "raise ValueError('x')\n" },
  { before: 'try:\n    f()\nexcept KeyError as e:\n    pass\n', after: 'try:\n    f()\nexcept (KeyError, IndexError) as e:\n    pass\n' },
]);
