// Owns the test that constrained impersonation makes nobody one of those whom nothing is refused. The rest is recorded (test/golden, access-imp-*).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../http/ask.suite.ts';
import { startTestServer } from '../start.suite.ts';

test('constrained impersonation of any group does not reach system:masters; the way of old does', async () => {
  const running = await startTestServer();
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const json = { 'content-type': 'application/json' };
  const grant = async (name: string, rules: readonly object[]): Promise<void> => {
    const metadata = { name };
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }];
    const role = await running.admin.call({ method: 'POST', path: `${rbac}/clusterroles`, body: { metadata, rules } });
    assert.ok(role);
    const body = { metadata, roleRef, subjects };
    await running.admin.call({ method: 'POST', path: `${rbac}/clusterrolebindings`, body });
  };
  const become = (group: string) =>
    ask(running.port, {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      token: 'other-token',
      headers: { ...json, 'impersonate-user': 'zed', 'impersonate-group': group },
      body: '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
    });
  try {
    await grant('constrained', [
      { apiGroups: ['authentication.k8s.io'], resources: ['users', 'groups'], verbs: ['impersonate:user-info'] },
      { apiGroups: ['*'], resources: ['*'], verbs: ['impersonate-on:user-info:create'] },
    ]);
    assert.equal((await become('friends')).status, 201);
    const refused = await become('system:masters');
    assert.equal(refused.status, 403);
    assert.match(refused.text, /"name":"system:masters","group":"authentication.k8s.io","kind":"groups"/);
    assert.match(refused.text, /impersonating the system:masters group is not allowed/);
    await grant('of-old', [{ apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] }]);
    const made = await become('system:masters');
    assert.equal(made.status, 201, made.text);
    assert.match(made.text, /"groups":\["system:masters","system:authenticated"\]/);
  } finally {
    await running.stop();
  }
});
