import type { Packed } from '../wire/gzip.ts'

/** File of the web UI, as built, with its media type. */
export type UiFile = Packed & { readonly type: string }

/** The built web UI. `page` contains `BASE` at the place of the base path; `assets` are keyed by name. */
export type UiFiles = {
  readonly page: string
  readonly icon: Buffer
  readonly assets: ReadonlyMap<string, UiFile>
}

/** Placeholder of the base path in the page. */
export const BASE = '%BASE%'
