import { type ReactNode, useEffect, useState } from 'react';
import { type FileDiff, filesOf, languageOf, pathOf, sizeOf } from './diff.ts';
import { Empty } from './bits.tsx';
import { plain } from './output.tsx';
import type { colour as colourOf } from './syntax.ts';

type Colour = typeof colourOf;
type Change = FileDiff['hunks'][number]['changes'][number];

/** Lines of one file that are drawn at once. */
const most = 800;

const numbersOf = (change: Change): readonly [string, string] => {
  if (change.type === 'normal') return [String(change.oldLineNumber), String(change.newLineNumber)];
  return change.type === 'delete' ? [String(change.lineNumber), ''] : ['', String(change.lineNumber)];
};

function Line({
  change,
  language,
  colour,
}: {
  readonly change: Change;
  readonly language: string | undefined;
  readonly colour: Colour | undefined;
}): ReactNode {
  const [before, after] = numbersOf(change).map((number) => (number === '0' ? '' : number));
  const text = plain(change.content);
  const pieces = colour === undefined || language === undefined ? [{ text }] : colour(text, language);
  return (
    <tr className={change.type}>
      <td className="number">{before}</td>
      <td className="number">{after}</td>
      <td className="sign" aria-label={{ insert: 'added', delete: 'removed', normal: '' }[change.type]}>
        {{ insert: '+', delete: '−', normal: ' ' }[change.type]}
      </td>
      <td className="code">
        {pieces.map((piece, at) => (
          <span key={at} className={'kind' in piece ? piece.kind : undefined}>
            {piece.text}
          </span>
        ))}
      </td>
    </tr>
  );
}

function FileView({ file, colour }: { readonly file: FileDiff; readonly colour: Colour | undefined }): ReactNode {
  const [all, setAll] = useState(false);
  const { added, removed } = sizeOf(file);
  const path = plain(pathOf(file));
  const language = languageOf(path);
  let left = all ? Infinity : most;
  return (
    <details className="file" open>
      <summary>
        <span className="path">{path}</span>
        <span className="badge-text">{{ add: 'new', delete: 'deleted', modify: '', rename: 'renamed', copy: 'copied' }[file.type]}</span>
        <span className="added">+{added}</span>
        <span className="removed">−{removed}</span>
      </summary>
      {file.isBinary === true ? (
        <p className="muted">A binary file; no lines to show.</p>
      ) : (
        <div className="scroll" tabIndex={0} role="region" aria-label={`Change of ${path}`}>
          <table className="diff">
            <tbody>
              {file.hunks.map((hunk) => {
                const lines = hunk.changes.slice(0, left);
                left -= lines.length;
                return [
                  hunk.content !== '' && (
                    <tr key={hunk.content} className="hunk">
                      <td colSpan={4}>{plain(hunk.content)}</td>
                    </tr>
                  ),
                  ...lines.map((change, at) => <Line key={`${hunk.content} ${at}`} change={change} language={language} colour={colour} />),
                ];
              })}
            </tbody>
          </table>
        </div>
      )}
      {left <= 0 && (
        <button type="button" className="link" onClick={() => setAll(true)}>
          Show all {added + removed} changed lines
        </button>
      )}
    </details>
  );
}

/** Files of a diff, one below the other. Colours come when their code has been loaded. */
export function DiffFiles({ files, note = '' }: { readonly files: readonly FileDiff[]; readonly note?: string }): ReactNode {
  const [colour, setColour] = useState<Colour>();
  useEffect(() => {
    void import('./syntax.ts').then(({ colour }) => setColour(() => colour));
  }, []);
  const sizes = files.map(sizeOf);
  const sum = (name: 'added' | 'removed'): number => sizes.reduce((all, size) => all + size[name], 0);
  return (
    <div className="diffs">
      <p className="muted">
        {files.length} {files.length === 1 ? 'file' : 'files'}, <span className="added">+{sum('added')}</span>{' '}
        <span className="removed">−{sum('removed')}</span>
        {note}
      </p>
      {files.map((file, at) => (
        <FileView key={`${pathOf(file)} ${at}`} file={file} colour={colour} />
      ))}
    </div>
  );
}

/** A unified diff, file by file. */
export function DiffView({ patch, cut }: { readonly patch: string; readonly cut?: boolean }): ReactNode {
  const files = filesOf(patch);
  if (files.length === 0)
    return (
      <Empty title="No change">
        {patch.trim() === '' ? (
          'Nothing of the workspace differs from snapshot 0.'
        ) : (
          <pre className="output">{plain(patch.slice(0, 20_000))}</pre>
        )}
      </Empty>
    );
  return <DiffFiles files={files} note={cut === true ? ' — the beginning of it: the whole is stored when the attempt ends' : ''} />;
}
