import type { Icon } from '@primer/octicons-react'
import type { RouteComponent } from '@tanstack/react-router'
import type { Needed } from './api/access.ts'

/** Entry of a page in the navigation and in the command palette. */
export type Entry = {
  readonly group: 'namespace' | 'settings'
  readonly words: string
  readonly icon: Icon
  /** A narrow window shows this entry; the others stand behind a button. */
  readonly first?: boolean
  /** Name in a narrow window. */
  readonly short?: string
  /** Key that opens the page after `g`. */
  readonly key?: string
  /** Rights, any one of which opens the section. Empty: the section is open to every user. */
  readonly needs: readonly Needed[]
}

/** Runs before a page is loaded. It may throw a redirect. */
type BeforeLoad = (to: { readonly params: object; readonly search: object }) => void

/** A page inside the shell. */
export type Page = {
  readonly path: string
  /** Reads the query of the address. */
  readonly search?: (search: Record<string, unknown>) => object
  readonly beforeLoad?: BeforeLoad
  readonly component: RouteComponent
  /** Undefined: other pages link to it. */
  readonly entry: Entry | undefined
}
