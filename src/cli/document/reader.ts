import { parseExactly } from '../../base/exact-json.ts'
import { isFailure } from '../../base/failure.ts'
import { didYouMean } from '../../config/did-you-mean.ts'
import { placeOf, type Source, wrong } from './source.ts'
import { isList, items, json, jsonSource, members, present, refuseTwice, text } from './value.ts'

/** Receives the place of each member that is ignored, and the message of each part that cannot be read. */
export type Problems = {
  readonly unknown: (place: string) => void
  readonly wrong: (message: string) => void
}
/** Members of a mapping by their name in the document. */
export type Members = { readonly [name in string]?: Source | undefined }

const truth = (source: Source | undefined): boolean => {
  const value = plain(source) ?? false
  return typeof value === 'boolean' ? value : wrong(source!, 'must be true or false.')
}

const plain = (source: Source | undefined): unknown => (present(source) ? parseExactly(json(source!)) : undefined)

/** A number, or a text that the validation rules of the service will reject. */
const amount = (source: Source | undefined): unknown => {
  const value = plain(source)
  return value === undefined || ['number', 'bigint', 'string'].includes(typeof value)
    ? value
    : wrong(source!, 'must be a number.')
}

/** Text, or a YAML list as JSON: of numbers as they are, or of texts. */
const valueOrList = (source: Source | undefined, numbers: boolean): string | undefined => {
  const given = present(source)
  if (!given || !isList(given)) return text(given)
  return numbers ? json(given) : JSON.stringify(items(given).map((item) => text(item) ?? ''))
}

/**
 * Readers of values that report a problem and go on: a value that cannot be read is absent. A document that is too
 * large ends the reading.
 */
export const readerOf = (problems: Problems) => {
  const attempt = <T>(read: () => T, otherwise: T): T => {
    try {
      return read()
    } catch (error) {
      if (!isFailure(error) || error.about['unreadable'] === true) throw error
      problems.wrong(error.message)
      return otherwise
    }
  }
  const unknown = (member: Source): void => problems.unknown(placeOf(member))
  /** A member that resembles a defined one is misspelt; any other one is ignored. */
  const misspelt =
    (names: readonly string[]) =>
    (member: Source, name: string): void => {
      const hint = didYouMean(name, names)
      if (hint === '') unknown(member)
      else wrong(member, `is not defined${hint}.`)
    }
  return {
    attempt,
    unknown,
    items: (source: Source | undefined) => attempt(() => items(source), []),
    text: (source: Source | undefined) => attempt(() => text(source), undefined),
    truth: (source: Source | undefined) => attempt(() => truth(source), false),
    amount: (source: Source | undefined) => attempt(() => amount(source), undefined),
    plain: (source: Source | undefined) => attempt(() => plain(source), undefined),
    json: (source: Source) => attempt<string | undefined>(() => jsonSource(source), undefined),
    valueOrList: (source: Source | undefined, numbers: boolean) =>
      attempt(() => valueOrList(source, numbers), undefined),
    /** Members with these names; undefined for a value that is no mapping. */
    members: <K extends string>(source: Source, names: readonly K[], refuse = misspelt(names)) =>
      attempt<{ readonly [name in K]?: Source } | undefined>(
        () =>
          members(
            source,
            names,
            (member, name) => attempt(() => refuse(member, name), undefined),
            (member, first) => attempt(() => refuseTwice(member, first), undefined),
          ),
        undefined,
      ),
  }
}
export type Reader = ReturnType<typeof readerOf>

/** Parts of a list, without those that cannot be read. */
export const partsOf = <T>(
  on: Reader,
  source: Source | undefined,
  part: (item: Source, on: Reader) => T | undefined,
): readonly T[] => on.items(source).flatMap((item) => part(item, on) ?? [])
