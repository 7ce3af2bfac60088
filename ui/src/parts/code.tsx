import { Safe } from './feedback/safe.tsx'

/** Preformatted text in a scrollable, focusable block. */
export const Code = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <pre className="code wrapped" role="group" aria-label={label} tabIndex={0}>
    <code>
      <Safe text={text} />
    </code>
  </pre>
)
