import Anser from 'anser';
import { type ReactNode, useMemo, useState } from 'react';

const colours = /^ansi-(?:bright-)?(?:black|red|green|yellow|blue|magenta|cyan|white)$/;

/** Control characters that colours do not need, and those that turn the direction of text: shown as marks, so that nothing hides. */
// oxlint-disable-next-line no-control-regex
const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const marked = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(hidden, '␦');

/** Text of another author, in one line or many: what cannot be seen is marked. */
export const plain = (text: string): string => marked(text);

/** Sequences of a terminal that are no colours (titles, cursor, links) say nothing here. */
const commands = new RegExp(
  [
    '\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)',
    '\\[[0-9;?]*[A-LN-Za-ln-z]',
    '[PX^_][^\\u001b]*\\u001b\\\\',
    '[()][0-9A-B]',
    '[=>78cDEHMNOZ]',
  ]
    .map((tail) => `\\u001b${tail}`)
    .join('|'),
  'g',
);

/** Text of a program: colours of a terminal become classes, everything else of it is text. */
export function Output({ text, limit = 20_000 }: { readonly text: string; readonly limit?: number }): ReactNode {
  const [whole, setWhole] = useState(false);
  const shown = whole || text.length <= limit ? text : text.slice(0, limit);
  const pieces = useMemo(() => Anser.ansiToJson(shown.replaceAll(commands, ''), { use_classes: true, remove_empty: true }), [shown]);
  return (
    <>
      <pre className="output" tabIndex={0}>
        {pieces.map(({ content, fg }, at) => (
          <span key={at} className={colours.test(fg ?? '') ? fg : undefined}>
            {marked(content)}
          </span>
        ))}
      </pre>
      {shown.length < text.length && (
        <button type="button" className="link" onClick={() => setWhole(true)}>
          Show {(text.length - shown.length).toLocaleString('en')} more characters
        </button>
      )}
    </>
  );
}
