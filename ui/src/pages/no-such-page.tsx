import { Link } from '@tanstack/react-router'
import { lastNamespace } from '../preferences.ts'
import { states } from '../words/common.ts'

/** An address that is no page. */
export const NoSuchPage = () => (
  <main className="content stack">
    <h1>{states.noPage}</h1>
    <p>
      <Link to="/ns/$ns/flags" params={{ ns: lastNamespace() }}>
        {states.goToFlags}
      </Link>
    </p>
  </main>
)
