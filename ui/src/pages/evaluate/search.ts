/** Evaluation parameters of an address: `flag`, `entity`, and `c.<property>` for each known property. */
export type Search = Readonly<Record<string, string>>

export const PREFIX = 'c.'

/** Selects the evaluation parameters of a query. */
export const searchKept = (search: Readonly<Record<string, unknown>>): Search =>
  Object.fromEntries(
    Object.entries(search).filter(
      (pair): pair is [string, string] =>
        typeof pair[1] === 'string' &&
        (pair[0] === 'entity' || pair[0].startsWith(PREFIX) || (pair[0] === 'flag' && pair[1] !== '')),
    ),
  )
