import assert from 'node:assert/strict';
import { test } from 'node:test';
import { share, smoothed } from './borrowing.ts';
import { hashOf } from '../../base/hash.ts';
import { handOf } from './classify.ts';
import { Demand } from './demand.ts';
import { Seats } from './levels.ts';
import type { Level, LevelConfig, Ticket } from './levels.ts';
import { RetryAfter } from './retry-after.ts';

const config = (name: string, more: Partial<LevelConfig> = {}): LevelConfig => ({
  name,
  uid: name,
  exempt: false,
  shares: 10,
  lendablePercent: 0,
  borrowingLimitPercent: undefined,
  queuing: { queues: 8, handSize: 2, lengthLimit: 10 },
  ...more,
});

const hand = (flow: string): number[] => handOf(hashOf(flow), 8, 2);

function occupy(seats: Seats, level: Level, count: number, nowMs = 0): number {
  let got = 0;
  while (got < count && level.hasRoom(1)) {
    seats.enter(level, 1, nowMs);
    got++;
  }
  return got;
}

test('seats are lent to levels that want them, and come back when their owners want them again', () => {
  const seats = new Seats(20);
  seats.configure([config('a', { lendablePercent: 50 }), config('b')], 0);
  const [a, b] = [seats.levels.get('a')!, seats.levels.get('b')!];
  assert.deepEqual([a.nominal, a.minimum, b.nominal, b.minimum], [10, 5, 10, 10]);
  for (let round = 1; round <= 8; round++) {
    occupy(seats, b, 100, round * 10_000 - 9_999);
    seats.rebalance(round * 10_000);
  }
  assert.equal(b.current, 15, 'its own ten and the five that a lends');
  assert.equal(a.current, 5);
  assert.equal(occupy(seats, a, 100, 80_000), 5);
  // a wants more than it keeps: its own ten are its own again.
  const ticket: Ticket = { seats: 5, flow: 'x', state: 'waiting', start: () => undefined };
  assert.equal(a.enqueue(ticket, hand('x')), 1);
  seats.note(a, 80_000);
  seats.rebalance(90_000);
  assert.deepEqual([a.current, b.current], [10, 10]);
});

test('a borrowing limit holds', () => {
  const seats = new Seats(20);
  seats.configure([config('a', { lendablePercent: 100 }), config('b', { borrowingLimitPercent: 20 })], 0);
  const b = seats.levels.get('b')!;
  for (let round = 1; round <= 3; round++) {
    occupy(seats, b, 100, round * 10_000);
    seats.rebalance(round * 10_000);
  }
  assert.equal(b.current, 12);
});

test('shares: within bounds, in proportion to targets, all given away', () => {
  const claim = (name: string, lower: number, upper: number, target: number) => ({ name, lower, upper, target });
  const of = (total: number, ...claims: ReturnType<typeof claim>[]) => [...share(total, claims).limits.values()];
  assert.deepEqual(of(30, claim('a', 0, 100, 10), claim('b', 0, 100, 20)), [10, 20]);
  assert.deepEqual(of(60, claim('a', 0, 100, 10), claim('b', 0, 100, 20)), [20, 40]);
  assert.deepEqual(of(60, claim('a', 0, 15, 10), claim('b', 0, 100, 20)), [15, 45], 'what a may not have is b’s');
  assert.deepEqual(of(10, claim('a', 8, 100, 1), claim('b', 0, 100, 20)), [8, 2]);
  assert.deepEqual(of(10, claim('a', 8, 100, 1), claim('b', 8, 100, 20)), [8, 8], 'what is kept is kept');
  assert.deepEqual(of(500, claim('a', 0, 10, 1), claim('b', 0, 10, 1)), [10, 10]);
});

test('demand: mean, deviation and peak by time; a peak is forgotten slowly', () => {
  const demand = new Demand(0);
  demand.set(10, 0);
  demand.set(0, 5000);
  assert.deepEqual(demand.take(10_000), { average: 5, deviation: 5, high: 10 });
  demand.set(2, 12_500);
  assert.deepEqual(demand.take(15_000), { average: 1, deviation: 1, high: 2 });
  assert.equal(smoothed(1, 10), 10);
  assert.ok(Math.abs(smoothed(10, 0) - 9.77) < 1e-9);
});

test('flows take turns: one that floods does not starve one that does not', () => {
  const seats = new Seats(1);
  seats.configure([config('a')], 0);
  const level = seats.levels.get('a')!;
  const order: string[] = [];
  const enter = (flow: string): boolean => {
    const ticket: Ticket = { seats: 1, flow, state: 'waiting', start: () => order.push(flow) };
    return level.enqueue(ticket, hand(flow)) !== undefined;
  };
  assert.equal(occupy(seats, level, 5), 1);
  let taken = 0;
  for (let sent = 0; sent < 50; sent++) if (enter('flood')) taken++;
  assert.equal(taken, 20, 'a hand of two queues of ten');
  assert.ok(enter('quiet'));
  for (let done = 0; done < 2; done++) {
    seats.leave(level, 1, 0);
    const found = seats.next()!;
    found.take();
    seats.start(level, found.ticket, 0);
  }
  assert.ok(order.includes('quiet'), `one flow fills two queues and gets one turn in two: ${order.join(' ')}`);
});

test('levels take turns by the work that they had, and one that comes late has no claim on the past', () => {
  const seats = new Seats(2);
  seats.configure([config('a'), config('b')], 0);
  const [a, b] = [seats.levels.get('a')!, seats.levels.get('b')!];
  const enter = (level: Level): void => {
    seats.wake(level);
    level.enqueue({ seats: 1, flow: 'x', state: 'waiting', start: () => undefined }, hand('x'));
  };
  const order: string[] = [];
  const serve = (): void => {
    const found = seats.next()!;
    found.take();
    order.push(found.level.config.name);
    seats.charge(found.level, 1);
  };
  for (let sent = 0; sent < 6; sent++) enter(a);
  for (let served = 0; served < 3; served++) serve();
  for (let sent = 0; sent < 3; sent++) enter(b);
  for (let served = 0; served < 6; served++) serve();
  assert.deepEqual(order.slice(3).join(''), 'ababab');
  assert.ok(b.served > 0);
});

test('what is given up is not started, and its place is free', () => {
  const seats = new Seats(1);
  seats.configure([config('a')], 0);
  const level = seats.levels.get('a')!;
  occupy(seats, level, 1);
  const ticket: Ticket = { seats: 1, flow: 'x', state: 'waiting', start: () => assert.fail('started') };
  assert.equal(level.enqueue(ticket, hand('x')), 1);
  seats.giveUp(level, ticket, 0);
  seats.leave(level, 1, 0);
  assert.equal(seats.next(), undefined);
  assert.deepEqual([level.waiting, level.waitingSeats, level.inUse, level.rejected], [0, 0, 0, 1]);
});

test('who waits in a level that changes is let in, and what it holds is not forgotten', () => {
  const seats = new Seats(1);
  seats.configure([config('a')], 0);
  const level = seats.levels.get('a')!;
  occupy(seats, level, 1);
  let started = 0;
  level.enqueue({ seats: 1, flow: 'x', state: 'waiting', start: () => started++ }, hand('x'));
  seats.configure([config('a', { shares: 5 })], 1);
  assert.equal(started, 1);
  assert.ok(seats.isLeaving(level));
  seats.leave(level, 1, 2);
  seats.leave(level, 1, 2);
  assert.ok(!seats.isLeaving(level));
});

test('hands are of different queues and always the same', () => {
  for (let hash = 1; hash < 200; hash++) {
    const dealt = handOf(hash * 7919, 64, 8);
    assert.equal(new Set(dealt).size, 8);
    assert.deepEqual(dealt, handOf(hash * 7919, 64, 8));
  }
});

test('who is turned away waits longer while many are, and shorter when it is quiet', () => {
  const told = new RetryAfter(0);
  assert.equal(told.drop(0), 1);
  for (let dropped = 0; dropped < 10; dropped++) told.drop(10);
  assert.equal(told.drop(1001), 2);
  for (let dropped = 0; dropped < 10; dropped++) told.drop(1100);
  assert.equal(told.drop(2001), 4);
  assert.equal(told.drop(60_000), 1);
});
