import { Safe } from '../feedback/safe.tsx'

/** Line of a change: its title and the values before and after. */
export type Change = { readonly title: string; readonly before?: string; readonly after?: string }

/** List of changes; removed and added values are marked with a sign. */
export const ChangeLines = ({ name, changes }: { readonly name: string; readonly changes: readonly Change[] }) => (
  <ul className="change-lines" aria-label={name}>
    {changes.map(({ title, before, after }, n) => (
      <li key={n} className="tight">
        <strong>
          <Safe text={title} />
        </strong>
        {before !== undefined && (
          <del>
            <span aria-hidden="true">− </span>
            <Safe text={before} />
          </del>
        )}
        {after !== undefined && (
          <ins>
            <span aria-hidden="true">+ </span>
            <Safe text={after} />
          </ins>
        )}
      </li>
    ))}
  </ul>
)
