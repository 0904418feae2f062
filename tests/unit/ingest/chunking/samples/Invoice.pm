package Acme::Billing::Invoice;
use strict;
use Acme::Gateway qw(charge);
use constant FEE => 0.02;

our $VERSION = '1.0';

# Pays it at most once.
sub pay {
    my ($self, $card) = @_;
    return 0 if $self->{paid};
    if (charge($card, $self->total)) {
        $self->{paid} = 1;
    }
    return $self->{paid};
}

sub total {
    my $self = shift;
    my $sum = 0;
    $sum += $_->price for @{ $self->{lines} };
    return apply_fee($sum);
}

sub apply_fee { return $_[0] * (1 + FEE) }

1;

__END__

=head1 NAME

Acme::Billing::Invoice - invoices
