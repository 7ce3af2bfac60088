import { Safe } from './feedback/safe.tsx'

/** Preformatted text in a scrollable, focusable block. */
export const Code = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <pre className="code wrapped" role="group" aria-label={label} tabIndex={0}>
    <code>
      <Safe text={text} />
    </code>
  </pre>
)

/** External text of a program in a line. */
export const CodeText = ({ text, look }: { readonly text: string; readonly look?: string }) => (
  <code className={look}>
    <Safe text={text} />
  </code>
)
