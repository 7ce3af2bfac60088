import { pending } from '../../words/pending.ts'
import { Safe } from '../feedback/safe.tsx'

/** List of the changes that were left out of a draft, because they do not fit the present state. */
export const LeftOut = ({ left }: { readonly left: readonly string[] }) =>
  left.length === 0 ? null : (
    <>
      <p>{pending.conflict.left}</p>
      <ul>
        {left.map((sentence, n) => (
          <li key={n}>
            <Safe text={sentence} />
          </li>
        ))}
      </ul>
    </>
  )
