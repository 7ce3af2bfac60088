import { Safe } from './feedback/safe.tsx'

/** A text as it is written, in a place that scrolls and that a keyboard reaches. */
export const Code = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <pre className="code wrapped" role="group" aria-label={label} tabIndex={0}>
    <code>
      <Safe text={text} />
    </code>
  </pre>
)
